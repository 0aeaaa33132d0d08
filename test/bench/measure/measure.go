// Package measure takes several measurements in turn, in one run, to compare them.
package measure

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"text/tabwriter"
	"time"

	"k8s.io/client-go/rest"

	"github.com/jobmanagedby/kubectl-jobmanagedby/test/bench/figures"
)

// Sample is the result of one run.
type Sample struct {
	Wall time.Duration
	// Peak is the largest resident set, in bytes; 0 if it was not a process.
	Peak int64
	// Bytes is the size of its output, or of its download.
	Bytes int64
}

// Seconds returns the duration in words.
func (s Sample) Seconds() string { return fmt.Sprintf("%.2f s", s.Wall.Seconds()) }

// Megabytes returns the largest resident set.
func (s Sample) Megabytes() float64 { return float64(s.Peak) / 1e6 }

// Measurement is a named measurement.
type Measurement struct {
	Name string
	Run  func() (Sample, error)
}

// Compare runs all measurements in turn, runs times after one warm-up, prints them next to the
// first, and returns the medians by name.
func Compare(runs int, measurements ...Measurement) (map[string]Sample, error) {
	samples := make([][]Sample, len(measurements))
	for round := range runs + 1 {
		for i, m := range measurements {
			s, err := m.Run()
			if err != nil {
				return nil, err
			}
			if round > 0 { // the first run warms up caches
				samples[i] = append(samples[i], s)
			}
		}
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "WHAT\tWALL\tMIN\tMAX\tOF THE FIRST\tPEAK MB\tOUTPUT MB")
	medians := map[string]Sample{}
	for i, m := range measurements {
		mid := Sample{
			Wall:  time.Duration(median(samples[i], func(s Sample) float64 { return float64(s.Wall) })),
			Peak:  int64(median(samples[i], func(s Sample) float64 { return float64(s.Peak) })),
			Bytes: int64(median(samples[i], func(s Sample) float64 { return float64(s.Bytes) })),
		}
		medians[m.Name] = mid
		byWall := func(a, b Sample) int { return int(a.Wall - b.Wall) }
		fmt.Fprintf(w, "%s\t%.3f s\t%.3f\t%.3f\t%.2f\t%.0f\t%.1f\n", m.Name, mid.Wall.Seconds(),
			slices.MinFunc(samples[i], byWall).Wall.Seconds(), slices.MaxFunc(samples[i], byWall).Wall.Seconds(),
			mid.Wall.Seconds()/medians[measurements[0].Name].Wall.Seconds(), mid.Megabytes(), float64(mid.Bytes)/1e6)
	}
	fmt.Fprintln(w)
	return medians, w.Flush()
}

func median(samples []Sample, of func(Sample) float64) float64 {
	values := make([]float64, len(samples))
	for i, s := range samples {
		values[i] = of(s)
	}
	return figures.Median(values)
}

// The content types of downloads.
const (
	Protobuf = "application/vnd.kubernetes.protobuf"
	JSON     = "application/json"
)

// Download reads lists, each as one document, over one new connection, and discards them.
// encoding is "gzip" or "identity"; paths are those of the API.
func Download(ctx context.Context, config *rest.Config, accept, encoding string, paths ...string) (all Sample, err error) {
	tlsConfig, err := rest.TLSConfigFor(config)
	if err != nil {
		return Sample{}, err
	}
	transport := &http.Transport{TLSClientConfig: tlsConfig, ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	start := time.Now()
	for _, path := range paths {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, config.Host+path, http.NoBody)
		if err != nil {
			return Sample{}, err
		}
		request.Header.Set("Accept", accept)
		request.Header.Set("Accept-Encoding", encoding)
		response, err := transport.RoundTrip(request)
		if err != nil {
			return Sample{}, err
		}
		n, err := io.Copy(io.Discard, response.Body)
		if err := errors.Join(err, response.Body.Close()); err != nil {
			return Sample{}, fmt.Errorf("download %s: %w", path, err)
		}
		if response.StatusCode != http.StatusOK {
			return Sample{}, fmt.Errorf("download %s: %s", path, response.Status)
		}
		all.Bytes += n
	}
	all.Wall = time.Since(start)
	return all, nil
}
