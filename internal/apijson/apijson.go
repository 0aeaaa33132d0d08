// Package apijson decodes the JSON of API servers, which may have any content: names are
// case-sensitive, unknown names are ignored, of duplicate names the last counts, and integers
// that are decoded into an interface stay integers, as in sigs.k8s.io/json. That package reads
// each byte several times, and takes most of the time of decoding lists of tens of thousands of
// objects; this package takes a quarter of it.
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

// Decode decodes the next value.
func Decode(in *jsontext.Decoder, into any) error {
	return json.UnmarshalDecode(in, into, options)
}

// Lenient returns the options of a jsontext.Decoder for the answers of servers: duplicate names
// and invalid UTF-8 are no errors.
func Lenient() jsontext.Options {
	return json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// options are shared: they cache information about types, which takes a third of the time of
// decoding a Workload.
//
//nolint:gochecknoglobals // It never changes except for its cache, which has its own lock.
var options = json.JoinOptions(Lenient(), json.WithUnmarshalers(json.JoinUnmarshalers(json.UnmarshalFromFunc(integer), json.UnmarshalFromFunc(timestamp))))

// timestamp decodes a metav1.Time. Its own method uses another decoder, which allocates more than
// everything else in a list of Workloads.
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

// integer decodes integers that fit into an int64, which clients of Kubernetes expect in objects
// of any kind, and leaves everything else to the other unmarshalers.
func integer(in *jsontext.Decoder, into *any) error {
	if in.PeekKind() != '0' {
		// An earlier value with the same name is replaced completely.
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
