package bundle

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/jobmanagedby/kubectl-jobmanagedby/internal/apijson"
)

// writeList writes objects as a v1 List, with each item's dash at the beginning of a line, as
// kubectl does.
func writeList(ctx context.Context, w io.Writer, records []*record) error {
	head := "apiVersion: v1\nkind: List\nitems:\n"
	if len(records) == 0 {
		head = "apiVersion: v1\nkind: List\nitems: []\n"
	}
	if _, err := io.WriteString(w, head); err != nil {
		return err
	}
	for _, record := range records {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := writeItem(w, record); err != nil {
			return err
		}
	}
	return nil
}

func writeItem(w io.Writer, o *record) error {
	var item map[string]any
	if err := apijson.Unmarshal(o.json, &item); err != nil {
		return err
	}
	// In a server's list, some objects have no apiVersion and kind.
	item["apiVersion"], item["kind"] = o.resource.GroupVersion().String(), o.kind
	encoder := yamlv3.NewEncoder(w)
	encoder.SetIndent(2)
	encoder.CompactSeqIndent()
	if err := encoder.Encode(node([]any{item})); err != nil {
		return err
	}
	return encoder.Close()
}

// node converts a value from JSON to YAML. The library's own choice of quotes is wrong for some
// strings, such as tabs in several lines.
func node(value any) *yamlv3.Node {
	switch v := value.(type) {
	case map[string]any:
		n := &yamlv3.Node{Kind: yamlv3.MappingNode, Tag: "!!map"}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			n.Content = append(n.Content, text(key), node(v[key]))
		}
		return n
	case []any:
		n := &yamlv3.Node{Kind: yamlv3.SequenceNode, Tag: "!!seq"}
		for _, item := range v {
			n.Content = append(n.Content, node(item))
		}
		return n
	case string:
		return text(v)
	case float64:
		return scalar("!!float", strconv.FormatFloat(v, 'g', -1, 64))
	case int64:
		return scalar("!!int", strconv.FormatInt(v, 10))
	case nil:
		return scalar("!!null", "null")
	default:
		return scalar("!!bool", fmt.Sprint(v))
	}
}

func scalar(tag, value string) *yamlv3.Node {
	return &yamlv3.Node{Kind: yamlv3.ScalarNode, Tag: tag, Value: value}
}

// text writes a string without quotes only if every parser reads it as a string.
func text(value string) *yamlv3.Node {
	n := scalar("!!str", value)
	switch {
	case isWord(value):
	case isPrintable(value):
		n.Style = yamlv3.SingleQuotedStyle
	default:
		n.Style = yamlv3.DoubleQuotedStyle
	}
	return n
}

// isWord reports whether a string needs no quotes.
func isWord(s string) bool {
	for i, r := range s {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '/'
		if !letter && (i == 0 || !strings.ContainsRune("0123456789-_./ ", r)) {
			return false
		}
	}
	switch strings.ToLower(s) {
	case "", "y", "n", "yes", "no", "on", "off", "true", "false", "null":
		return false
	}
	return !strings.HasSuffix(s, " ")
}

// isPrintable reports whether a string has only printable characters.
func isPrintable(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}
