package fleet

import (
	"strings"

	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/tools/clientcmd"
)

// overrides converts ConfigFlags to the overrides of clientcmd. ConfigFlags itself handles only
// one context, and reads the files each time. TestFlagsMeanWhatKubectlMeans compares both.
func overrides(f *genericclioptions.ConfigFlags) *clientcmd.ConfigOverrides {
	o := &clientcmd.ConfigOverrides{ClusterDefaults: clientcmd.ClusterDefaults}

	o.AuthInfo.ClientCertificate = *f.CertFile
	o.AuthInfo.ClientKey = *f.KeyFile
	o.AuthInfo.Token = *f.BearerToken
	o.AuthInfo.Impersonate = *f.Impersonate
	o.AuthInfo.ImpersonateUID = *f.ImpersonateUID
	o.AuthInfo.ImpersonateGroups = *f.ImpersonateGroup
	o.AuthInfo.ImpersonateUserExtra = userExtra(f)

	o.ClusterInfo.Server = *f.APIServer
	o.ClusterInfo.TLSServerName = *f.TLSServerName
	o.ClusterInfo.CertificateAuthority = *f.CAFile
	o.ClusterInfo.InsecureSkipTLSVerify = *f.Insecure
	o.ClusterInfo.DisableCompression = *f.DisableCompression
	if f.ProxyURL != nil {
		o.ClusterInfo.ProxyURL = *f.ProxyURL
	}

	o.Context.Cluster = *f.ClusterName
	o.Context.AuthInfo = *f.AuthInfoName
	o.Context.Namespace = *f.Namespace
	o.Timeout = *f.Timeout
	return o
}

func userExtra(f *genericclioptions.ConfigFlags) map[string][]string {
	if f.ImpersonateUserExtra == nil || len(*f.ImpersonateUserExtra) == 0 {
		return nil
	}
	extra := map[string][]string{}
	for _, pair := range *f.ImpersonateUserExtra {
		if key, value, ok := strings.Cut(pair, "="); ok {
			extra[key] = append(extra[key], value)
		}
	}
	return extra
}
