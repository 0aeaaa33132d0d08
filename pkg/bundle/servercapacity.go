package bundle

import (
	"fmt"
	"net/http"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// setCapacity serves the recorded resources of capacity. Resources that were not recorded are
// refused, so that they do not look empty.
func (s *server) setCapacity(c *Context) {
	for _, gv := range s.served {
		if gv.Group != kueue.Group {
			continue
		}
		for _, res := range capacityResources(gv.Version) {
			_, isKnown := s.unread[res.GroupResource()]
			_, isThere := s.store.tables[res.GroupVersionResource]
			switch {
			case isKnown || isThere:
			case slices.Contains(c.Recorded, res.GroupResource().String()):
				s.store.tables[res.GroupVersionResource] = newTable(res)
			default:
				s.unread[res.GroupResource()] = metav1.Status{
					TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure,
					Code: http.StatusNotFound, Reason: metav1.StatusReasonNotFound,
					Message: fmt.Sprintf("the snapshot lacks %s; record a new one with the snapshot command", res.GroupResource()),
					Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: kubecontext.CauseNotRecorded, Message: res.GroupResource().String()}}},
				}
			}
		}
	}
}
