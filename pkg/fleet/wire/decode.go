package wire

import (
	"errors"
	"fmt"

	"k8s.io/client-go/rest"

	"github.com/jobmanagedby/kubectl-jobmanagedby/internal/apijson"
)

// ErrInvalidAnswer means that the answer of a server is malformed, or is not what was requested.
var ErrInvalidAnswer = errors.New("the answer of the server is invalid")

// Decode decodes the answer to a request for JSON.
func Decode(result rest.Result, into any) error {
	if err := result.Error(); err != nil {
		return err
	}
	body, err := result.Raw()
	if err != nil {
		return err
	}
	return DecodeText(body, into)
}

// DecodeText decodes JSON from a server.
func DecodeText(text []byte, into any) error {
	if err := apijson.Unmarshal(text, into); err != nil {
		return fmt.Errorf("%w: %w", ErrInvalidAnswer, err)
	}
	return nil
}
