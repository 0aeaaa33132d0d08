package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"k8s.io/client-go/rest"

	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture/kinds"
)

// chunk is the number of objects per request, as in kubectl.
const chunk = 500

// downloads are the lists of one cluster.
type downloads struct {
	config *rest.Config
	paths  []string
}

func newDownloads(config *rest.Config, samples []kinds.Sample) *downloads {
	d := &downloads{config: config}
	for i := range samples {
		r := samples[i].Kind.Resource
		d.paths = append(d.paths, "/apis/"+r.Group+"/"+r.Version+"/"+r.Resource)
	}
	return d
}

// run reads all lists one after the other, over one new connection, and discards them.
func (d *downloads) run(ctx context.Context) (sample, error) {
	tls, err := rest.TLSConfigFor(d.config)
	if err != nil {
		return sample{}, err
	}
	transport := &http.Transport{TLSClientConfig: tls, ForceAttemptHTTP2: true, DisableCompression: true}
	defer transport.CloseIdleConnections()
	start := time.Now()
	var all sample
	for _, path := range d.paths {
		n, err := download(ctx, transport, d.config.Host+path)
		if err != nil {
			return sample{}, fmt.Errorf("download %s: %w", path, err)
		}
		all.bytes += n
	}
	all.wall = time.Since(start)
	return all, nil
}

// download reads one list in chunks.
func download(ctx context.Context, transport http.RoundTripper, address string) (total int64, err error) {
	query := url.Values{"limit": {strconv.Itoa(chunk)}}
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, address+"?"+query.Encode(), http.NoBody)
		if err != nil {
			return 0, err
		}
		request.Header.Set("Accept", "application/json")
		response, err := transport.RoundTrip(request)
		if err != nil {
			return 0, err
		}
		body, err := io.ReadAll(response.Body)
		if err := errors.Join(err, response.Body.Close()); err != nil {
			return 0, err
		}
		if response.StatusCode != http.StatusOK {
			return 0, errors.New(response.Status)
		}
		total += int64(len(body))
		token := next(body)
		if token == "" {
			return total, nil
		}
		query.Set("continue", token)
	}
}

// next finds the token for the next chunk without parsing the chunk. It is before the items or
// after them.
func next(body []byte) string {
	const near = 1 << 10
	for _, part := range [][]byte{body[:min(near, len(body))], body[max(0, len(body)-near):]} {
		if _, after, found := bytes.Cut(part, []byte(`"continue":"`)); found {
			token, _, _ := bytes.Cut(after, []byte(`"`))
			return string(token)
		}
	}
	return ""
}
