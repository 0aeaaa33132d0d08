package read

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/internal/apijson"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/cache"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// readObject converts an object of any kind but Job to the model: readJob does that. content is the
// object, or the fields of it that slimObject decodes.
func readObject(kind *delegation.Kind, meta metav1.Object, content map[string]any) read {
	fields := meta.GetManagedFields()
	written := inspect.StatusWrittenAt(fields)
	r := read{kind: kind, state: kind.StateOf(content, written != nil)}
	apiVersion, kindName := kind.GroupVersionKind().ToAPIVersionAndKind()
	r.job = inspect.Job{
		APIVersion: apiVersion, Kind: kindName, KindRow: kind,
		Namespace: meta.GetNamespace(), Name: meta.GetName(), UID: string(meta.GetUID()),
		ManagedBy:         kind.OwnerOf(delegation.TextAt(content, kind.ManagedBy...)),
		NamesBuiltIn:      kind.NamesBuiltIn(delegation.TextAt(content, kind.ManagedBy...)),
		StartTime:         timePointer(kind.Started(r.state)),
		CompletionTime:    timePointer(kind.Ended(r.state)),
		CreationTimestamp: meta.GetCreationTimestamp(),
		Suspended:         r.state.Suspend,
		StatusWrittenAt:   written,
		Marks:             delegation.MarksOf(meta.GetLabels(), meta.GetAnnotations()),
		Generation:        meta.GetGeneration(),
		SpecWrittenAt:     inspect.SpecWrittenAt(fields),
		DeletedAt:         meta.GetDeletionTimestamp(), Finalizers: meta.GetFinalizers(),
		TTL:        ttl(kind, content),
		Controller: metav1.GetControllerOf(meta),
		WrittenAs:  inspect.WrittenAs(fields),
		PodValue:   delegation.TextAt(content, kind.PodValue...),
	}
	if kind.Template {
		r.job.Concurrency = delegation.TextAt(content, delegation.Concurrency()...)
		r.job.Marks = marksOfTemplate(kind, r.job.Marks, content)
	}
	if !r.job.ManagedBy.IsBuiltIn() {
		r.job.StatusWriters = inspect.StatusWriters(fields)
	} else if r.job.IsMirror() {
		r.job.SpecWriters = inspect.SpecWriters(fields)
	}
	if since, ok := kind.Finished(r.state); ok {
		r.job.FinishedTime = timePointer(since)
	} else {
		// An object that is ending has no completion time before its result.
		r.job.CompletionTime = nil
	}
	r.job.Failure = kind.Failure(r.state)
	r.job.Restarts = kind.Restarts(r.state)
	if why, ok := kind.Invalid(r.state); ok {
		r.job.Invalid = &why
	}
	return r
}

// marksOfTemplate returns the marks of a template, with the queue of the objects created from it instead of its own.
func marksOfTemplate(kind *delegation.Kind, own *delegation.Marks, content map[string]any) *delegation.Marks {
	queue := delegation.TextAt(content, kind.QueueLabel...)
	if len(kind.QueueLabel) == 0 || own == nil && queue == "" {
		return own
	}
	marks := delegation.Marks{}
	if own != nil {
		marks = *own
	}
	marks.Queue = queue
	return &marks
}

func timePointer(t time.Time) *metav1.Time {
	if t.IsZero() {
		return nil
	}
	return &metav1.Time{Time: t}
}

// ttl returns the seconds after which the finished object is deleted; nil if unset.
func ttl(kind *delegation.Kind, content map[string]any) *int32 {
	if kind.OtherTTL {
		return nil
	}
	return secondsAt(content, kind.TTL())
}

func secondsAt(content map[string]any, path []string) *int32 {
	if len(path) == 0 {
		return nil
	}
	for _, value := range delegation.At(content, path...) {
		if n, ok := value.(int64); ok {
			seconds := int32(n)
			return &seconds
		}
	}
	return nil
}

// readWhole converts an object to the model, with the whole object in it.
func readWhole(kind *delegation.Kind, content map[string]any) (read, error) {
	o := &unstructured.Unstructured{Object: content}
	o.SetGroupVersionKind(kind.GroupVersionKind())
	var r read
	if kind.IsJob() {
		job, err := typedJob(content)
		if err != nil {
			return read{}, err
		}
		r = readJob(kind, job)
	} else {
		r = readObject(kind, o, content)
		var encoded struct {
			Spec map[string]json.RawMessage `json:"spec"`
		}
		if text, err := json.Marshal(map[string]any{"spec": content["spec"]}); err == nil && json.Unmarshal(text, &encoded) == nil {
			r.job.Sizes = sizesOf(kind, encoded.Spec)
		}
	}
	r.job.Object = o
	return r, nil
}

// slimObject is an object of which only the needed fields are decoded. Most of an object is Pod
// templates and history.
type slimObject struct {
	Metadata slimMeta                   `json:"metadata"`
	Spec     map[string]json.RawMessage `json:"spec"`
	Status   map[string]json.RawMessage `json:"status"`
}

// slimMeta is the metadata of an object, without the contents of managedFields.
type slimMeta struct {
	metav1.ObjectMeta `json:",inline"`
	ManagedFields     []slimEntry `json:"managedFields"`
}

type slimEntry struct {
	Manager     string       `json:"manager"`
	APIVersion  string       `json:"apiVersion"`
	Time        *metav1.Time `json:"time"`
	Subresource string       `json:"subresource"`
}

// slimmer decodes the fields of a kind's objects that the model needs.
type slimmer struct {
	kind *delegation.Kind
	// wanted are the fields below spec and status to decode.
	wanted map[string]map[string]bool
}

func newSlimmer(kind *delegation.Kind) *slimmer {
	s := &slimmer{kind: kind, wanted: map[string]map[string]bool{"spec": {}, "status": {}}}
	for _, path := range kind.Fields() {
		if len(path) > 1 && s.wanted[path[0]] != nil {
			s.wanted[path[0]][path[1]] = true
		}
	}
	return s
}

// read converts an object to the model. It returns an error if a field cannot be decoded.
func (s *slimmer) read(o *slimObject) (read, error) {
	// The object may be read again, so it is not modified.
	meta := o.Metadata.ObjectMeta
	meta.ManagedFields = nil
	for _, e := range o.Metadata.ManagedFields {
		meta.ManagedFields = append(meta.ManagedFields, metav1.ManagedFieldsEntry{
			Manager: e.Manager, APIVersion: e.APIVersion, Time: e.Time, Subresource: e.Subresource,
		})
	}
	content := map[string]any{"metadata": map[string]any{}}
	if meta.DeletionTimestamp != nil {
		content["metadata"] = map[string]any{"deletionTimestamp": meta.DeletionTimestamp.Format(time.RFC3339)}
	}
	for name, fields := range map[string]map[string]json.RawMessage{"spec": o.Spec, "status": o.Status} {
		decoded := map[string]any{}
		for key, raw := range fields {
			if !s.wanted[name][key] {
				if name == "status" {
					// Only the presence of the field matters.
					decoded[key] = nil
				}
				continue
			}
			var value any
			if err := apijson.Unmarshal(raw, &value); err != nil {
				return read{}, fmt.Errorf("%s %s/%s: the answer of the server is invalid: %w", s.kind, meta.Namespace, meta.Name, err)
			}
			decoded[key] = value
		}
		content[name] = decoded
	}
	r := readObject(s.kind, &meta, content)
	r.job.Sizes = sizesOf(s.kind, o.Spec)
	return r, nil
}

// objectsOf returns the source of a query's objects of any kind, as JSON.
func objectsOf(c *fleet.Cluster, q Query, kind *delegation.Kind) cache.Source[read] {
	slim, names, labels := newSlimmer(kind), interner{}, newLabelSets(q.Labels)
	source := fleet.SourceOf(c, kind.Resource, q.namespace(c), q.selected(kind), func(o *slimObject) (string, read) {
		r, err := slim.read(o)
		r.err = err
		names.intern(&r.job)
		r.job.Labels = labels.of(o.Metadata.Labels)
		return cache.ObjectKey(o.Metadata.Namespace, o.Metadata.Name), r
	})
	// The result depends on the field with the owner, so it is part of the key.
	source.Key += "\n" + strings.Join(append([]string{strings.Join(kind.ManagedBy, ".")}, q.Labels...), "\n")
	return source
}

// Most of a Job is its Pod template, of which the model keeps what it requires of nodes, and which resources it
// requests. Decoding it into a few hundred small objects would take most of the time and memory of a list. So it
// is cut out of the encoded Job before decoding.

// fields maps the numbers of an encoded message's fields to what to cut out: the field, or
// something in it.
type fields map[protowire.Number]part

// part says what to cut out of a field. The zero value cuts out the whole field.
type part struct {
	// within is what to cut out of the field.
	within fields
	// unless says which entries of a map to keep, by their keys.
	unless func(key string) bool
	// only are the fields to keep in the field, each with what to keep in it; all of it if nil.
	only fields
}

// unusedFields returns the fields of an encoded Job that drop removes (k8s.io/api: batch/v1 and
// meta/v1, generated.proto). withRequests is whether readsRequests is true for it.
func unusedFields(labels []string, withRequests bool) fields {
	pod := fields{
		7:  {},                                       // nodeSelector
		18: {only: fields{1: {only: fields{1: {}}}}}, // affinity: nodeAffinity: required
	}
	if withRequests {
		pod[2] = part{only: containerFields()}          // containers
		pod[20] = part{only: containerFields()}         // initContainers
		pod[32] = part{only: fields{1: {}}}             // overhead: names
		pod[39] = part{only: fields{1: {}}}             // resourceClaims: names
		pod[40] = part{only: containerFields()[8].only} // resources
	}
	return fields{
		1: {within: fields{ // metadata
			11: {unless: keepsLabel(labels)}, // labels
			12: {unless: delegation.IsMark},  // annotations
			17: {within: fields{7: {}}},      // managedFields: fieldsV1
		}},
		2: {within: fields{6: {within: fields{ // spec: template
			1: {},          // metadata
			2: {only: pod}, // spec
		}}}},
	}
}

// managedBy returns spec.managedBy of an encoded Job; "" if it is not set.
func managedBy(job []byte) (owner string, err error) {
	err = eachField(job, func(n protowire.Number, t protowire.Type, value, _ []byte) error {
		if n != 2 || t != protowire.BytesType {
			return nil
		}
		return eachField(value, func(n protowire.Number, t protowire.Type, value, _ []byte) error {
			if n == 15 && t == protowire.BytesType {
				owner = string(value)
			}
			return nil
		})
	})
	return owner, err
}

// containerFields returns the fields of an encoded container that drop keeps: the names of the resources
// in its limits and requests.
func containerFields() fields {
	names := part{only: fields{1: {}}}
	return fields{8: {only: fields{1: names, 2: names}}}
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
		case part.within != nil || part.only != nil:
			slim, err := part.slim(value)
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

// slim returns the content of a field without what is cut out of it.
func (p part) slim(value []byte) (slim []byte, err error) {
	if p.only == nil {
		return cut(nil, value, p.within)
	}
	err = eachField(value, func(n protowire.Number, t protowire.Type, value, whole []byte) error {
		kept, named := p.only[n]
		switch {
		case !named:
		case kept.only == nil || t != protowire.BytesType:
			slim = append(slim, whole...)
		default:
			inner, err := kept.slim(value)
			if err != nil {
				return err
			}
			slim = protowire.AppendTag(slim, n, t)
			slim = protowire.AppendBytes(slim, inner)
		}
		return nil
	})
	return slim, err
}

// keeps reports whether to keep a map entry.
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
