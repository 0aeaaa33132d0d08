package read

import (
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// Most of a Job is its Pod template, of which the model keeps nothing. Decoding it into a few
// hundred small objects would take most of the time and memory of a list. So it is cut out of the
// encoded Job before decoding.

// fields maps the numbers of an encoded message's fields to what to cut out: the field, or
// something in it.
type fields map[protowire.Number]part

// part says what to cut out of a field. The zero value cuts out the whole field.
type part struct {
	// within is what to cut out of the field.
	within fields
	// unless says which entries of a map to keep, by their keys.
	unless func(key string) bool
}

// unusedFields returns the fields of an encoded Job that drop removes (k8s.io/api: batch/v1 and
// meta/v1, generated.proto).
func unusedFields(labels []string) fields {
	return fields{
		1: {within: fields{ // metadata
			11: {unless: keepsLabel(labels)}, // labels
			12: {unless: delegation.IsMark},  // annotations
			17: {within: fields{7: {}}},      // managedFields: fieldsV1
		}},
		2: {within: fields{6: {}}}, // spec: template
	}
}

// field returns the last field with this number in an encoded message. The field must have a
// length-delimited type.
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

// cut appends an encoded message to dst, without the given fields.
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

// keeps says whether to keep a map entry.
func (p part) keeps(entry []byte) bool {
	if p.unless == nil {
		return false
	}
	key, err := field(entry, 1)
	return err == nil && p.unless(string(key))
}

// eachField calls visit for the fields of an encoded message. value is the content of a
// length-delimited field, and whole is the field with its tag.
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
