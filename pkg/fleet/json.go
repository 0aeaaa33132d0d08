package fleet

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	kjson "sigs.k8s.io/json"
)

// JSON begins a request for objects of any kind, as JSON; namespace is "" for all
// of them, and for kinds that have none.
func (c *Cluster) JSON(r schema.GroupVersionResource, namespace string) (*rest.Request, error) {
	apiPath := "/apis"
	if r.Group == corev1.GroupName {
		apiPath = "/api"
	}
	client, err := c.REST(r.GroupVersion(), apiPath)
	if err != nil {
		return nil, err
	}
	return client.Get().NamespaceIfScoped(namespace, namespace != "").Resource(r.Resource).
		SetHeader("Accept", "application/json"), nil
}

// DecodeJSON reads the answer to a request for JSON.
func DecodeJSON(result rest.Result, into any) error {
	if err := result.Error(); err != nil {
		return err
	}
	body, err := result.Raw()
	if err != nil {
		return err
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(body, into); err != nil {
		return fmt.Errorf("the server's answer makes no sense: %w", err)
	}
	return nil
}

// ListOptionsVersion is where client-go's scheme knows the options of lists: they
// are the same for every group.
func ListOptionsVersion() schema.GroupVersion { return schema.GroupVersion{Version: "v1"} }
