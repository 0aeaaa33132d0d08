package read

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// jobPage is the answer to a request for Jobs, whose metadata has been read. The Jobs are then
// decoded one at a time, as they arrive, to save memory.
type jobPage struct {
	metav1.ListMeta
	body io.Closer
	in   *bufio.Reader
	// left is how many bytes of the list are unread.
	left uint64
	// size is how many bytes of Jobs were read.
	size int64
	// unwanted are the fields to remove from each Job, and unrequested those to remove from a Job whose
	// requests are read, too.
	unwanted, unrequested fields
	// list has the Jobs of an answer that is not protobuf.
	list *batchv1.JobList

	value bytes.Buffer
	slim  []byte
}

// protobufPrefix starts every object that an API server encodes as protobuf. A message of type
// runtime.Unknown follows.
const protobufPrefix = "k8s\x00"

// jobCollection is the Jobs of a namespace, or of all, and the labels to keep.
type jobCollection struct {
	client    rest.Interface
	namespace string
	labels    []string
}

// open requests Jobs. The caller must read the result to its end.
func (c jobCollection) open(ctx context.Context, o metav1.ListOptions) (*jobPage, error) {
	body, err := c.client.Get().NamespaceIfScoped(c.namespace, c.namespace != "").Resource("jobs").
		VersionedParams(&o, scheme.ParameterCodec).Stream(ctx)
	if err != nil {
		return nil, err
	}
	page, err := newJobPage(body, c.labels)
	if err != nil {
		return nil, errors.Join(err, body.Close())
	}
	return page, nil
}

func newJobPage(body io.ReadCloser, labels []string) (*jobPage, error) {
	p := &jobPage{body: body, in: bufio.NewReaderSize(body, 32<<10), unwanted: unusedFields(labels, false), unrequested: unusedFields(labels, true)}
	start, err := p.in.Peek(len(protobufPrefix))
	if string(start) == protobufPrefix {
		_, _ = p.in.Discard(len(protobufPrefix))
		err := p.begin()
		return p, err
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	whole, err := io.ReadAll(p.in)
	if err != nil {
		return nil, err
	}
	p.list, err = decodeWhole(whole, labels)
	if err == nil {
		p.ListMeta = p.list.ListMeta
	}
	return p, err
}

// decodeWhole decodes an answer that is not protobuf.
func decodeWhole(body []byte, labels []string) (*batchv1.JobList, error) {
	answer, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
	if err != nil {
		return nil, err
	}
	if status, ok := answer.(*metav1.Status); ok && status.Status != metav1.StatusSuccess {
		return nil, apierrors.FromObject(status)
	}
	// Decoding another type into a list would succeed and leave it empty.
	list, ok := answer.(*batchv1.JobList)
	if !ok {
		return nil, fmt.Errorf("the server sent a %T instead of a list of Jobs", answer)
	}
	for i := range list.Items {
		drop(&list.Items[i], labels)
	}
	return list, nil
}

// begin reads up to the first Job: the envelope and the list's metadata. They come first, because
// fields are in the order of their numbers (apimachinery: runtime and meta/v1, generated.proto).
func (p *jobPage) begin() error {
	p.left = math.MaxInt64
	number, length, err := p.tag()
	if err == nil && number == 1 {
		var about runtime.TypeMeta
		if err := p.take(length, about.Unmarshal); err != nil {
			return err
		}
		if about.Kind != "JobList" {
			return fmt.Errorf("the server sent a %s instead of a list of Jobs", about.Kind)
		}
		number, length, err = p.tag()
	}
	if err == nil && number == 2 {
		p.left = length
		number, length, err = p.tag()
	}
	if err == nil && number != 1 {
		err = malformed(errors.New("no list begins like that"))
	}
	if err != nil {
		return err
	}
	return p.take(length, p.Unmarshal)
}

// each calls visit for each Job, without the fields that the model drops, and closes the answer.
// The Job itself is reused after visit returns, but what it points to is not.
func (p *jobPage) each(visit func(*batchv1.Job)) (err error) {
	defer func() { err = errors.Join(err, p.body.Close()) }()
	if p.list != nil {
		for i := range p.list.Items {
			visit(&p.list.Items[i])
		}
		return nil
	}
	var job batchv1.Job
	for p.left > 0 {
		number, length, err := p.tag()
		if err != nil {
			return err
		}
		err = p.take(length, func(value []byte) (err error) {
			if number != 2 {
				return nil
			}
			unwanted := p.unwanted
			if owner, err := managedBy(value); err != nil {
				return err
			} else if readsRequests(owner) {
				unwanted = p.unrequested
			}
			if p.slim, err = cut(p.slim[:0], value, unwanted); err != nil {
				return err
			}
			job.Reset()
			return job.Unmarshal(p.slim)
		})
		if err != nil {
			return err
		}
		if number == 2 {
			p.size += int64(length)
			visit(&job)
		}
	}
	return p.end()
}

// end reads the rest of the answer, so that the connection can be reused. A second list is an
// error, because in protobuf it would replace the first.
func (p *jobPage) end() error {
	behind, err := io.ReadAll(io.LimitReader(p.in, 1<<10))
	for err == nil && len(behind) > 0 {
		number, _, length := protowire.ConsumeField(behind)
		if number == 2 {
			return malformed(errors.New("it has two lists"))
		}
		if length < 0 {
			break
		}
		behind = behind[length:]
	}
	if err == nil {
		_, err = io.Copy(io.Discard, p.in)
	}
	return err
}

// tag reads the number and length of the next field. All fields of an envelope and of a list are
// length-delimited.
func (p *jobPage) tag() (protowire.Number, uint64, error) {
	tag, err := binary.ReadUvarint(p)
	if err != nil {
		return 0, 0, malformed(err)
	}
	number, kind := protowire.DecodeTag(tag)
	length, err := binary.ReadUvarint(p)
	switch {
	case err != nil:
		return 0, 0, malformed(err)
	case kind != protowire.BytesType || number < protowire.MinValidNumber || length > p.left:
		return 0, 0, malformed(errors.New("it is not a field of a list"))
	}
	return number, length, nil
}

// ReadByte reads a byte of the list.
func (p *jobPage) ReadByte() (byte, error) {
	if p.left == 0 {
		return 0, io.EOF
	}
	p.left--
	return p.in.ReadByte()
}

// take reads and decodes the content of a field. It allocates memory for bytes that have arrived,
// not for the announced length.
func (p *jobPage) take(length uint64, decode func([]byte) error) error {
	p.value.Reset()
	n, err := io.CopyN(&p.value, p.in, int64(length))
	p.left -= uint64(n)
	if err == nil {
		err = decode(p.value.Bytes())
	}
	if err != nil {
		return malformed(err)
	}
	return nil
}

// malformed wraps a decoding error. An unexpected end of the answer becomes io.ErrUnexpectedEOF.
func malformed(err error) error {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("malformed protobuf: %w", err)
}
