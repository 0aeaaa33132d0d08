// Package apijson decodes the JSON of API servers, which may hold whatever a cluster has:
// names are case-sensitive, unknown ones are passed over, of those that are there twice the
// last counts, and in what is decoded into an interface integers stay integers, as in
// sigs.k8s.io/json. That reads each byte several times; lists of tens of thousands of
// objects take most of their time there, and a quarter of it here.
package apijson

import (
	"errors"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Unmarshal decodes a whole text.
func Unmarshal(text []byte, into any) error {
	return json.Unmarshal(text, into, options)
}

// Decode decodes the value that comes next.
func Decode(in *jsontext.Decoder, into any) error {
	return json.UnmarshalDecode(in, into, options)
}

// Lenient is how a jsontext.Decoder has to be made to take what servers send: what is there
// twice, and text that is no UTF-8, are no errors.
func Lenient() jsontext.Options {
	return json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// options are made once: what they have found out about types is kept with them, and takes
// a third of the time of decoding a Workload.
//
//nolint:gochecknoglobals // It never changes but for what it remembers, under a lock of its own.
var options = json.JoinOptions(Lenient(), json.WithUnmarshalers(json.JoinUnmarshalers(json.UnmarshalFromFunc(integer), json.UnmarshalFromFunc(timestamp))))

// timestamp decodes what metav1.Time does by another decoder, which makes more garbage than
// all else in a list of Workloads.
func timestamp(in *jsontext.Decoder, into *metav1.Time) error {
	switch in.PeekKind() {
	case '"':
	case 'n':
		into.Time = time.Time{}
		return in.SkipValue()
	default:
		return errors.ErrUnsupported
	}
	token, err := in.ReadToken()
	if err != nil {
		return err
	}
	at, err := time.Parse(time.RFC3339, token.String())
	if err != nil {
		return err
	}
	into.Time = at.Local()
	return nil
}

// integer decodes integers that fit into an int64, which clients of Kubernetes expect in
// objects of any kind, and leaves everything else to others.
func integer(in *jsontext.Decoder, into *any) error {
	if in.PeekKind() != '0' {
		// What came before under the same name goes as a whole.
		*into = nil
		return errors.ErrUnsupported
	}
	number, err := in.ReadValue()
	if err != nil {
		return err
	}
	if n, err := strconv.ParseInt(string(number), 10, 64); err == nil {
		*into = n
		return nil
	}
	*into, err = strconv.ParseFloat(string(number), 64)
	return err
}
