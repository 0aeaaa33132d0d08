package clusters

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// Fill makes the etcd of a cluster report that it is out of space until free is called, by the
// alarm that etcd itself raises when its quota is used up: reads work, writes are refused, and
// deletions are allowed.
// Source: https://etcd.io/docs/v3.6/op-guide/maintenance/#space-quota
func (s *Set) Fill(ctx context.Context, name string) (free func() error, err error) {
	status, err := s.etcd(ctx, name, "maintenance/status", nil)
	if err != nil {
		return nil, err
	}
	alarm := func(ctx context.Context, action string) error {
		_, err := s.etcd(ctx, name, "maintenance/alarm", map[string]string{"action": action, "memberID": status.Header.Member, "alarm": "NOSPACE"})
		return err
	}
	return func() error { return alarm(context.WithoutCancel(ctx), "DEACTIVATE") }, alarm(ctx, "ACTIVATE")
}

// Compact makes the etcd of a cluster forget all earlier revisions, as API servers do every five
// minutes.
// Source: https://etcd.io/docs/v3.6/op-guide/maintenance/#history-compaction-v3-api-key-value-database
func (s *Set) Compact(ctx context.Context, name string) error {
	status, err := s.etcd(ctx, name, "maintenance/status", nil)
	if err != nil {
		return err
	}
	_, err = s.etcd(ctx, name, "kv/compaction", map[string]any{"revision": status.Header.Revision, "physical": true})
	if err != nil && strings.Contains(err.Error(), "has been compacted") {
		// Nothing was written since the last compaction.
		return nil
	}
	return err
}

// etcdAnswer is the common part of etcd's answers. Its gateway writes 64-bit numbers as text.
type etcdAnswer struct {
	Header struct {
		Member   string `json:"member_id"`
		Revision string `json:"revision"`
	} `json:"header"`
}

// etcd sends a request to the etcd of a cluster, through its JSON gateway for gRPC.
func (s *Set) etcd(ctx context.Context, name, path string, body any) (answer etcdAnswer, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s of the etcd of cluster %s: %w", path, name, err)
		}
	}()
	address, err := s.etcdAddress(name)
	if err != nil {
		return answer, err
	}
	text, err := json.Marshal(body)
	if err != nil {
		return answer, err
	}
	if body == nil {
		text = []byte("{}")
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address+"/v3/"+path, bytes.NewReader(text))
	if err != nil {
		return answer, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return answer, err
	}
	defer func() { _ = response.Body.Close() }()
	text, err = io.ReadAll(response.Body)
	if err != nil {
		return answer, err
	}
	if response.StatusCode != http.StatusOK {
		return answer, fmt.Errorf("%s: %s", response.Status, text)
	}
	err = json.Unmarshal(text, &answer)
	return answer, err
}

// etcdAddress returns the address on which the etcd of a cluster listens.
func (s *Set) etcdAddress(name string) (string, error) {
	file := filepath.Join(workdir(s.dir), "clusters", name, "kwok.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	found := regexp.MustCompile(`--advertise-client-urls=(http://)[^:]*(:\d+)`).FindSubmatch(text)
	if found == nil {
		return "", fmt.Errorf("%s does not say where etcd listens", file)
	}
	return string(found[1]) + "127.0.0.1" + string(found[2]), nil
}
