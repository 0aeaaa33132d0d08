package fleet

import (
	"net/http"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
)

// clients are those of client-go, all of which ask through the cluster's door.
type clients struct {
	kubernetes kubernetes.Interface
	dynamic    dynamic.Interface
	metadata   metadata.Interface
}

func newClients(config *rest.Config, through *http.Client) (*clients, error) {
	var made clients
	var err error
	if made.kubernetes, err = kubernetes.NewForConfigAndClient(protobuf(config), through); err != nil {
		return nil, err
	}
	if made.dynamic, err = dynamic.NewForConfigAndClient(dynamic.ConfigFor(config), through); err != nil {
		return nil, err
	}
	if made.metadata, err = metadata.NewForConfigAndClient(metadata.ConfigFor(config), through); err != nil {
		return nil, err
	}
	return &made, nil
}

// protobuf are the settings of clients that talk protobuf, and JSON with what knows
// no protobuf.
func protobuf(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.ContentType = runtime.ContentTypeProtobuf
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	return config
}

// Kubernetes is a client for all of the built-in API that talks protobuf.
func (c *clients) Kubernetes() kubernetes.Interface { return c.kubernetes }

// Dynamic is a client for objects of any kind, whose unknown fields survive.
func (c *clients) Dynamic() dynamic.Interface { return c.dynamic }

// Metadata is a client that reads the metadata of any kind of object.
func (c *clients) Metadata() metadata.Interface { return c.metadata }

// REST makes a client for one group and version of the built-in API that talks
// protobuf, and JSON with what knows no protobuf. apiPath is "/api" for the
// core group and "/apis" for all others.
func (c *Cluster) REST(gv schema.GroupVersion, apiPath string) (*rest.RESTClient, error) {
	config := protobuf(c.config)
	config.APIPath = apiPath
	config.GroupVersion = &gv
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	return rest.RESTClientForConfigAndClient(config, c.http)
}
