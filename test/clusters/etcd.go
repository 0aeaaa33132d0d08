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

// Fill has the etcd of a cluster out of space until free is called, by the alarm that etcd
// raises itself when its quota is used up: it is read as ever, what would store something
// is refused, and what is deleted may go.
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

// Compact has the etcd of a cluster forget all that was before now, as API servers have it
// do every five minutes.
// Source: https://etcd.io/docs/v3.6/op-guide/maintenance/#history-compaction-v3-api-key-value-database
func (s *Set) Compact(ctx context.Context, name string) error {
	status, err := s.etcd(ctx, name, "maintenance/status", nil)
	if err != nil {
		return err
	}
	_, err = s.etcd(ctx, name, "kv/compaction", map[string]any{"revision": status.Header.Revision, "physical": true})
	if err != nil && strings.Contains(err.Error(), "has been compacted") {
		// Nothing was written since it was the last time.
		return nil
	}
	return err
}

// etcdAnswer is what all answers of etcd have in common. Its gateway writes numbers of 64
// bits as text.
type etcdAnswer struct {
	Header struct {
		Member   string `json:"member_id"`
		Revision string `json:"revision"`
	} `json:"header"`
}

// etcd asks the etcd of a cluster for something, by the JSON that it takes in the place of
// gRPC.
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

// etcdAddress is where kwokctl has the etcd of a cluster listen.
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
