package preflight

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/dependency"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// data describes a ConfigMap or Secret, without its values.
type data struct {
	exists, deleting bool
	keys             map[string]bool
	// digest is equal for equal content.
	digest [sha256.Size]byte
	// isToken is whether it is a service account token.
	isToken bool
	// copiedFor is the UID of the origin for which it was first copied; "" if it is not a copy.
	copiedFor string
}

// data reads a ConfigMap or Secret.
func (p Probe) data(ctx context.Context, kind, namespace, name string) (data, error) {
	question := fmt.Sprintf("data of %s %s/%s", kind, namespace, name)
	return recall(ctx, p, question, func(ctx context.Context) (data, error) {
		found, err := p.Get(ctx, dependency.Resource(kind), namespace, name)
		if err != nil || found == nil {
			return data{}, err
		}
		content := dependency.ContentOf(found)
		encoded, err := json.Marshal(content)
		if err != nil {
			return data{}, err
		}
		d := data{
			exists: true, deleting: found.GetDeletionTimestamp() != nil, keys: map[string]bool{}, digest: sha256.Sum256(encoded),
			isToken: content["type"] == string(corev1.SecretTypeServiceAccountToken), copiedFor: found.GetLabels()[delegation.OriginUIDLabel],
		}
		for _, field := range []string{"data", "binaryData"} {
			values, _, _ := unstructured.NestedMap(content, field)
			for key := range values {
				d.keys[key] = true
			}
		}
		return d, nil
	})
}

// checkAllData checks all ConfigMaps and Secrets to which the Pods refer, and sets the
// dependencies.
func (c *check) checkAllData(ctx context.Context) []Problem {
	copies := make([]bool, len(c.references))
	looks := make([]checkFunc, len(c.references))
	for i, ref := range c.references {
		looks[i] = func(ctx context.Context) []Problem {
			var found []Problem
			found, copies[i] = c.checkData(ctx, ref)
			if ref.soft {
				for i := range found {
					found[i].Blocking = false
				}
			}
			return found
		}
	}
	found := runConcurrently(ctx, looks...)
	for i, ref := range c.references {
		if copies[i] {
			c.dependencies = append(c.dependencies, dependency.Object{Kind: ref.kind, Namespace: c.Request.Origin.GetNamespace(), Name: ref.name})
		}
	}
	return found
}

// checkData checks one reference. isCopied reports whether the object is a dependency to copy or
// to share.
func (c *check) checkData(ctx context.Context, ref reference) (found []Problem, isCopied bool) {
	if wrong := c.worker.invalidName(ref.kind, c.namespace(), ref.name, ref.by); wrong != nil {
		wrong[0].Blocking = !ref.optional
		return wrong, false
	}
	onWorker, err := c.worker.data(ctx, ref.kind, c.namespace(), ref.name)
	p := Problem{Context: c.worker.Context, Blocking: true, Object: named(ref.kind, c.namespace(), ref.name)}
	switch {
	case err != nil && ref.optional:
		return nil, false
	case err != nil:
		return []Problem{c.worker.unchecked(p.Object, c.namespace(), err)}, false
	case !onWorker.exists:
		return c.missingData(ctx, ref, p)
	case onWorker.deleting && !ref.optional:
		p.Message = fmt.Sprintf("is being deleted, and %s needs it", ref.by)
		p.Remedy = command.Say("%s, then create the %s again", c.worker.Kubectl(c.namespace(), "wait", "--for=delete", strings.ToLower(ref.kind), ref.name), ref.kind)
		return []Problem{p}, false
	case onWorker.copiedFor == "":
		return lacksKeys(c.worker, c.namespace(), ref, onWorker, p), false
	}
	found, isCopied = c.sharedData(ctx, ref, onWorker, p)
	if len(found) == 0 {
		found = lacksKeys(c.worker, c.namespace(), ref, onWorker, p)
	}
	return found, isCopied
}

// missingData handles an object that is missing on the worker.
func (c *check) missingData(ctx context.Context, ref reference, p Problem) ([]Problem, bool) {
	allowed := c.Dependencies.Allows(ref.kind, ref.name)
	if ref.optional && !allowed {
		return nil, false
	}
	namespace := c.Request.Origin.GetNamespace()
	original, err := c.origin.data(ctx, ref.kind, namespace, ref.name)
	p.Message = fmt.Sprintf("does not exist, and %s needs it", ref.by)
	if ref.soft {
		p.Message = "does not exist, and images that need its credentials cannot be pulled"
	}
	create := c.worker.Kubectl(c.namespace(), "create").With(creation(ref)...)
	switch {
	case err != nil && allowed:
		p.Blocking = !ref.optional
		p.Message += fmt.Sprintf("; it could not be copied, since it could not be read on %s: %s", c.origin.Context, kubecontext.Because(err))
		p.Remedy = command.Say("create it there: %s", create)
	case err == nil && !original.exists && ref.optional:
		return nil, false
	case err != nil, !original.exists:
		if err == nil {
			p.Message += fmt.Sprintf("; %s has none either", c.origin.Context)
		}
		p.Remedy = command.Say("create it there: %s", create)
	case original.isToken:
		p.Blocking = !ref.optional
		p.Message += "; it is the token of a service account, which other clusters reject"
		p.Remedy = command.Say("use a token of a service account on the worker, or create another Secret there: %s", create)
	case !allowed:
		p.Remedy = command.Say("copy it: run dispatch with %s; or create it there: %s", c.copyFlag(ref), create)
	default:
		return lacksKeys(c.origin, namespace, ref, original, Problem{
			Context: c.origin.Context, Blocking: true, Object: named(ref.kind, namespace, ref.name),
		}), true
	}
	return []Problem{p}, false
}

// copyFlag returns the flag that allows copying an object.
func (c *check) copyFlag(ref reference) string {
	if ref.kind == dependency.Secret {
		return "--with-secret " + command.Word(ref.name)
	}
	return "--with-dependencies"
}

// creation returns the arguments of "kubectl create" that create an object.
func creation(ref reference) []string {
	words := []string{"configmap", ref.name}
	if ref.kind == dependency.Secret {
		words = []string{"secret", "generic", ref.name}
		if ref.soft {
			return []string{"secret", "docker-registry", ref.name, "--docker-server=SERVER", "--docker-username=USER", "--docker-password=PASSWORD"}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(ref.keys)) {
		if len(validation.IsConfigMapKey(key)) == 0 {
			words = append(words, "--from-literal="+key+"=VALUE")
		}
	}
	if len(ref.keys) == 0 {
		words = append(words, "--from-file=FILE")
	}
	return words
}

// sharedData handles a copy that already exists on the worker, made for this mirror or another
// one.
func (c *check) sharedData(ctx context.Context, ref reference, onWorker data, p Problem) ([]Problem, bool) {
	isOwn := onWorker.copiedFor == string(c.Request.Origin.GetUID())
	if !c.Dependencies.Allows(ref.kind, ref.name) {
		if isOwn || ref.optional {
			return nil, false
		}
		p.Blocking = false
		p.Message = fmt.Sprintf("was copied for another %s and is deleted with its mirror, while %s needs it", c.kind.Kind, ref.by)
		p.Remedy = command.Say("share it: run dispatch with %s", c.copyFlag(ref))
		return []Problem{p}, false
	}
	original, err := c.origin.data(ctx, ref.kind, c.Request.Origin.GetNamespace(), ref.name)
	switch {
	case err != nil:
		return []Problem{c.origin.unchecked(named(ref.kind, c.Request.Origin.GetNamespace(), ref.name), c.Request.Origin.GetNamespace(), err)}, false
	case !original.exists:
		p.Blocking = false
		p.Message = fmt.Sprintf("was copied for another %s and is deleted with its mirror; it no longer exists on %s", c.kind.Kind, c.origin.Context)
		p.Remedy = command.Say("create the %s again: %s", ref.kind, c.worker.Kubectl(c.namespace(), "create").With(creation(ref)...))
	case original.digest != onWorker.digest:
		p.Message = fmt.Sprintf("was copied from %s earlier, and the original has changed since", c.origin.Context)
		p.Remedy = dependency.HowToRemove(c.worker.Cluster, ref.kind, c.namespace(), ref.name)
	default:
		return nil, true
	}
	return []Problem{p}, false
}

// lacksKeys returns a Problem for each key that Pods need and that an object lacks.
func lacksKeys(p Probe, namespace string, ref reference, d data, found Problem) []Problem {
	var problems []Problem
	for _, key := range slices.Sorted(maps.Keys(ref.keys)) {
		if d.keys[key] {
			continue
		}
		field := "data"
		if ref.kind == dependency.Secret {
			field = "stringData"
		}
		if wrong := validation.IsConfigMapKey(key); len(wrong) > 0 {
			found.Message = fmt.Sprintf("can have no key %q, and %s needs it: %s", key, ref.keys[key], wrong[0])
			found.Remedy = "correct the key in the Pod template"
			problems = append(problems, found)
			continue
		}
		found.Message = fmt.Sprintf("has no key %s, and %s needs it", key, ref.keys[key])
		found.Remedy = p.Kubectl(namespace, "patch", strings.ToLower(ref.kind), ref.name, "--type=merge", "-p", command.Patch("VALUE", field, key)).Prose()
		problems = append(problems, found)
	}
	return problems
}
