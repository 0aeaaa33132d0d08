package content

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Dotted returns a path for people: "spec.managedBy".
func Dotted(path []string) string { return strings.Join(path, ".") }

// Keyed returns the path of a key in a map field, such as "metadata.labels[team]".
func Keyed(field, key string) string { return field + "[" + key + "]" }

// longest is the maximum length of a value in messages.
const longest = 100

// InBrief returns a value for people; "" if it is too long.
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

// JSON returns a value as JSON on one line.
func JSON(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(text)
}

// Shortened returns a value for people, and cuts it if it is too long.
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
