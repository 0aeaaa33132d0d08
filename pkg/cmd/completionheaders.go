package cmd

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
)

// Of ten thousand Jobs, the metadata alone is 20 MB, nearly all of it
// managedFields. client-go's metadata client decodes that into objects once the
// whole of it is there, which takes about as long as the server does. Here it is
// read while it comes in, and nothing is kept but names and marks: what has been
// read when the time is up is there to be used, and memory does not grow with the
// list.

// header is what completion needs to know of an object.
type header struct {
	name string
	// annotations are those that delegation.IsMark; nil for none.
	annotations map[string]string
}

// headersOnly asks a server for metadata, as protobuf where it can.
const headersOnly = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1," +
	"application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"

// most is how many objects of a list are looked at.
const most = 20000

// collection is what to list: objects of a namespace, or of all with "", that a
// label selector picks, or all with "".
type collection struct {
	schema.GroupVersionResource
	namespace, selector string
}

// listHeaders calls visit for the objects of a collection. What the server has in
// memory is fresh enough, and is not looked up in etcd.
func listHeaders(ctx context.Context, in *fleet.Context, of collection, visit func(header)) error {
	client, err := plainClient(in, of.GroupVersion())
	if err != nil {
		return err
	}
	options := metav1.ListOptions{LabelSelector: of.selector, ResourceVersion: "0", Limit: most}
	body, err := client.Get().NamespaceIfScoped(of.namespace, of.namespace != "").Resource(of.Resource).
		SpecificallyVersionedParams(&options, metav1.ParameterCodec, schema.GroupVersion{Version: "v1"}).
		SetHeader("Accept", headersOnly).Stream(ctx)
	if err != nil {
		return err
	}
	// Closing it before its end tells the server to stop.
	defer func() { _ = body.Close() }()
	seen := 0
	return readHeaders(body, func(h header) bool {
		visit(h)
		seen++
		return seen < most
	})
}

// plainClient makes a client of a context without asking which cluster it is.
func plainClient(in *fleet.Context, gv schema.GroupVersion) (*rest.RESTClient, error) {
	config := rest.CopyConfig(in.Config)
	config.APIPath = "/apis"
	if gv.Group == "" {
		config.APIPath = "/api"
	}
	config.GroupVersion = &gv
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	config.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	return rest.RESTClientFor(config)
}

// protobufMagic is what an API server puts before an object that it encodes as
// protobuf; behind it stands a message of type runtime.Unknown.
const protobufMagic = "k8s\x00"

// The numbers of fields (k8s.io/apimachinery: runtime and meta/v1,
// generated.proto).
const (
	unknownRaw       protowire.Number = 2
	listItems        protowire.Number = 2
	itemMetadata     protowire.Number = 1
	metaName         protowire.Number = 1
	metaAnnotations  protowire.Number = 12
	entryKey         protowire.Number = 1
	entryValue       protowire.Number = 2
	largestOfAnItem                   = 16 << 20
	sizeOfReadBuffer                  = 64 << 10
)

// readHeaders reads a list of PartialObjectMetadata, protobuf or JSON, and calls
// visit for its items until that says false.
func readHeaders(r io.Reader, visit func(header) bool) error {
	in := bufio.NewReaderSize(r, sizeOfReadBuffer)
	if magic, err := in.Peek(len(protobufMagic)); err != nil || string(magic) != protobufMagic {
		return readJSONHeaders(in, visit)
	}
	if _, err := in.Discard(len(protobufMagic)); err != nil {
		return err
	}
	for {
		number, size, err := nextField(in)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case number == unknownRaw:
			return readItems(bufio.NewReaderSize(io.LimitReader(in, size), sizeOfReadBuffer), visit)
		}
		if _, err := io.CopyN(io.Discard, in, size); err != nil {
			return err
		}
	}
}

// readItems reads an encoded list to its end.
func readItems(in *bufio.Reader, visit func(header) bool) error {
	var item []byte
	for {
		number, size, err := nextField(in)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case size > largestOfAnItem:
			return fmt.Errorf("an item of %d bytes in a list of metadata", size)
		}
		if int64(cap(item)) < size {
			item = make([]byte, size)
		}
		item = item[:size]
		if _, err := io.ReadFull(in, item); err != nil {
			return err
		}
		if number != listItems {
			continue
		}
		if h := headerOf(item); h.name != "" && !visit(h) {
			return nil
		}
	}
}

// nextField reads up to the value of a field and says how long that is. All fields
// of the messages that are read so are length-delimited.
func nextField(in *bufio.Reader) (protowire.Number, int64, error) {
	tag, err := binary.ReadUvarint(in)
	if err != nil {
		return 0, 0, err
	}
	number, kind := protowire.DecodeTag(tag)
	if kind != protowire.BytesType {
		return 0, 0, fmt.Errorf("field %d of a list of metadata is of type %d", number, kind)
	}
	size, err := binary.ReadUvarint(in)
	if err != nil || int64(size) < 0 {
		return 0, 0, errors.Join(io.ErrUnexpectedEOF, err)
	}
	return number, int64(size), nil
}

// headerOf reads an encoded item, as far as it makes sense.
func headerOf(item []byte) (h header) {
	eachBytes(item, func(number protowire.Number, value []byte) {
		if number != itemMetadata {
			return
		}
		eachBytes(value, func(number protowire.Number, value []byte) {
			if number == metaName {
				h.name = string(value)
			}
			if number == metaAnnotations {
				h.annotate(value)
			}
		})
	})
	return h
}

// annotate keeps an encoded entry of the annotations, if it is a mark.
func (h *header) annotate(entry []byte) {
	var key, value []byte
	eachBytes(entry, func(number protowire.Number, text []byte) {
		if number == entryKey {
			key = text
		}
		if number == entryValue {
			value = text
		}
	})
	if !delegation.IsMark(string(key)) {
		return
	}
	if h.annotations == nil {
		h.annotations = map[string]string{}
	}
	h.annotations[string(key)] = string(value)
}

// eachBytes calls visit for the length-delimited fields of an encoded message, up
// to where it is malformed.
func eachBytes(message []byte, visit func(number protowire.Number, value []byte)) {
	for len(message) > 0 {
		number, kind, tag := protowire.ConsumeTag(message)
		if tag < 0 {
			return
		}
		size := protowire.ConsumeFieldValue(number, kind, message[tag:])
		if size < 0 {
			return
		}
		if kind == protowire.BytesType {
			value, _ := protowire.ConsumeBytes(message[tag:])
			visit(number, value)
		}
		message = message[tag+size:]
	}
}

// readJSONHeaders is for what knows no protobuf, such as bundles.
func readJSONHeaders(r io.Reader, visit func(header) bool) error {
	var list metav1.PartialObjectMetadataList
	if err := json.NewDecoder(r).Decode(&list); err != nil {
		return err
	}
	for i := range list.Items {
		h := header{name: list.Items[i].Name, annotations: list.Items[i].Annotations}
		if !visit(h) {
			return nil
		}
	}
	return nil
}
