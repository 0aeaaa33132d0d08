package util

import (
	"fmt"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
)

// KnownCodes validates codes, which may be in any case.
func KnownCodes(typed []string) ([]string, error) {
	var codes []string
	for _, code := range typed {
		rule, ok := rules.ByCode(strings.ToUpper(code))
		if !ok {
			return nil, UnknownCode(code)
		}
		codes = append(codes, rule.Code)
	}
	return codes, nil
}

// UnknownCode returns the error for an unknown code, with a similar one.
func UnknownCode(code string) error {
	var known []string
	for _, r := range rules.Catalogue() {
		known = append(known, r.Code)
	}
	hint := "the explain command lists all codes"
	if near := fleet.Nearest(code, known); near != "" {
		hint = fmt.Sprintf("did you mean %s? the explain command lists all codes", near)
	}
	return fmt.Errorf("unknown code %q; %s", code, hint)
}
