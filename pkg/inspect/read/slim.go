package read

import (
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// Most of a Job is its pod template, and the model keeps nothing of it. To
// decode it into a few hundred small objects only to drop them is most of the
// time and memory that a listing takes, so it is cut out of the encoded Job
// before that is decoded.

// fields names fields of an encoded message by their numbers: those to cut out,
// and those in which something is to be cut out.
type fields map[protowire.Number]part

// part is what to do with a field. The zero value cuts it out.
type part struct {
	// within is what to cut out of the field.
	within fields
	// unless says which of a map's entries are kept, by their keys.
	unless func(key string) bool
}

// uninteresting is what drop removes, of an encoded Job (k8s.io/api: batch/v1 and
// meta/v1, generated.proto).
func uninteresting(labels []string) fields {
	return fields{
		1: {within: fields{ // metadata
			11: {unless: keepsLabel(labels)}, // labels
			12: {unless: delegation.IsMark},  // annotations
			17: {within: fields{7: {}}},      // managedFields: fieldsV1
		}},
		2: {within: fields{6: {}}}, // spec: template
	}
}

// field returns the last field with that number of an encoded message, which
// has to be of a length-delimited type.
func field(message []byte, number protowire.Number) ([]byte, error) {
	var found []byte
	err := eachField(message, func(n protowire.Number, t protowire.Type, value, _ []byte) error {
		if n == number && t == protowire.BytesType {
			found = value
		}
		return nil
	})
	return found, err
}

// cut appends an encoded message to dst, without what is named.
func cut(dst, message []byte, without fields) ([]byte, error) {
	err := eachField(message, func(n protowire.Number, t protowire.Type, value, whole []byte) error {
		part, named := without[n]
		switch {
		case !named || t != protowire.BytesType || part.keeps(value):
			dst = append(dst, whole...)
		case part.within != nil:
			slim, err := cut(nil, value, part.within)
			if err != nil {
				return err
			}
			dst = protowire.AppendTag(dst, n, t)
			dst = protowire.AppendBytes(dst, slim)
		}
		return nil
	})
	return dst, err
}

// keeps says whether a map's entry stays as it is.
func (p part) keeps(entry []byte) bool {
	if p.unless == nil {
		return false
	}
	key, err := field(entry, 1)
	return err == nil && p.unless(string(key))
}

// eachField calls visit for the fields of an encoded message. value is what a
// length-delimited field holds, whole the field with its tag.
func eachField(message []byte, visit func(n protowire.Number, t protowire.Type, value, whole []byte) error) error {
	for len(message) > 0 {
		n, t, tagLength := protowire.ConsumeTag(message)
		if tagLength < 0 {
			return protowire.ParseError(tagLength)
		}
		length := protowire.ConsumeFieldValue(n, t, message[tagLength:])
		if length < 0 {
			return protowire.ParseError(length)
		}
		whole := message[:tagLength+length]
		var value []byte
		if t == protowire.BytesType {
			value, _ = protowire.ConsumeBytes(whole[tagLength:])
		}
		if err := visit(n, t, value, whole); err != nil {
			return err
		}
		message = message[tagLength+length:]
	}
	return nil
}
