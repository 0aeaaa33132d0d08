package wire

import (
	"context"
	"errors"
	"testing"

	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// expired returns the error of a server that has compacted the snapshot of a list, and offers a token.
func expired(token string) error {
	err := apierrors.NewResourceExpired("compacted")
	err.ErrStatus.Continue = token
	return err
}

// nodes is a list of Nodes in chunks, by continue token.
type nodes map[string]func() (*corev1.NodeList, error)

func (n nodes) list(_ context.Context, o metav1.ListOptions) (*corev1.NodeList, error) {
	return n[o.Continue]()
}

// pageOf returns a chunk with one Node.
func pageOf(name, next string) func() (*corev1.NodeList, error) {
	return func() (*corev1.NodeList, error) {
		return &corev1.NodeList{ListMeta: metav1.ListMeta{Continue: next}, Items: []corev1.Node{{ObjectMeta: metav1.ObjectMeta{Name: name}}}}, nil
	}
}

func failing(err error) func() (*corev1.NodeList, error) {
	return func() (*corev1.NodeList, error) { return nil, err }
}

// TestEachItem checks that a compacted list continues with the offered token, and that an endless list
// ends in an error.
func TestEachItem(t *testing.T) {
	failed := errors.New("failed")
	for name, tt := range map[string]struct {
		pages nodes
		want  []string
		err   error
	}{
		"chunks":           {nodes{"": pageOf("a", "1"), "1": pageOf("b", "")}, []string{"a", "b"}, nil},
		"compacted":        {nodes{"": pageOf("a", "1"), "1": failing(expired("2")), "2": pageOf("b", "")}, []string{"a", "b"}, nil},
		"no token":         {nodes{"": pageOf("a", "1"), "1": failing(expired(""))}, []string{"a"}, expired("")},
		"expired at first": {nodes{"": failing(expired("2"))}, nil, expired("2")},
		"another error":    {nodes{"": pageOf("a", "1"), "1": failing(failed)}, []string{"a"}, failed},
		"repeated token":   {nodes{"": pageOf("a", "1"), "1": pageOf("b", "1")}, []string{"a"}, errNoEnd},
		"repeated offer":   {nodes{"": pageOf("a", "1"), "1": failing(expired("1"))}, []string{"a"}, errNoEnd},
	} {
		var got []string
		err := EachItem(t.Context(), tt.pages.list, metav1.ListOptions{}, func(n *corev1.Node) { got = append(got, n.Name) })
		assert.DeepEqual(t, got, tt.want)
		if tt.err == nil {
			assert.NilError(t, err, name)
		} else {
			assert.Error(t, err, tt.err.Error(), name)
		}
	}
	err := EachItem(t.Context(), nodes{"": pageOf("a", "")}.list, metav1.ListOptions{}, func(*corev1.Pod) {})
	assert.ErrorIs(t, err, ErrInvalidAnswer)
}
