package content

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Dotted is a path as people are told it: "spec.managedBy".
func Dotted(path []string) string { return strings.Join(path, ".") }

// Keyed is the path of one of the keys that a field holds, such as
// "metadata.labels[team]".
func Keyed(field, key string) string { return field + "[" + key + "]" }

// longest is how long a value may be that people are told.
const longest = 100

// InBrief is a value as people are told it: "" if it is too long.
func InBrief(value any) string {
	text, isString := value.(string)
	if !isString && value != nil {
		text = JSON(value)
	}
	if len(text) > longest {
		return ""
	}
	return text
}

// JSON is a value as JSON in one line.
func JSON(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(text)
}

// Shortened is a value as people are told it, cut if it is long.
func Shortened(value any) string {
	text, isString := value.(string)
	if !isString {
		text = JSON(value)
	}
	if runes := []rune(text); len(runes) > longest {
		return string(runes[:longest-1]) + "…"
	}
	return text
}
