package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// actionScript is the script of the GitHub action.
const actionScript = "hack/action/run.sh"

// runAction runs the script of the GitHub action with the released program for this machine, on a
// snapshot that has findings.
func (d *dist) runAction(ctx context.Context, bundle string) error {
	dir, err := os.MkdirTemp("", "action-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if out, err := exec.CommandContext(ctx, "tar", "-xzf", d.archive(thisPlatform()), "-C", dir, binary).CombinedOutput(); err != nil {
		return fmt.Errorf("unpack the program: %w: %s", err, out)
	}
	for command, args := range map[string]string{"check": "-A\n--from=" + bundle + "\n--grace=0s\n", "doctor": "--from=" + bundle} {
		outputs, err := action(ctx, dir, filepath.Join(dir, binary), command, args)
		if err != nil {
			return fmt.Errorf("%s: %w", command, err)
		}
		if outputs["exit-code"] != "3" || outputs["findings"] == "0" {
			return fmt.Errorf("%s of %s found nothing: %v", command, bundle, outputs)
		}
	}
	return nil
}

// action runs the script as GitHub does, and returns its outputs. Its report has to be SARIF with
// the reported number of results.
func action(ctx context.Context, dir, program, command, args string) (map[string]string, error) {
	report, file := filepath.Join(dir, command+".sarif"), filepath.Join(dir, "outputs")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		return nil, err
	}
	c := exec.CommandContext(ctx, "bash", actionScript)
	c.Env = append(os.Environ(), "PROGRAM="+program, "COMMAND="+command, "ARGS="+args, "SARIF="+report, "GITHUB_OUTPUT="+file)
	if out, err := c.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, out)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	outputs := map[string]string{}
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		outputs[key] = value
	}
	if text, err = os.ReadFile(report); err != nil {
		return nil, err
	}
	var sarif struct {
		Version string
		Runs    []struct{ Results []struct{ RuleID string } }
	}
	if err := json.Unmarshal(text, &sarif); err != nil {
		return nil, err
	}
	if sarif.Version != "2.1.0" || len(sarif.Runs) != 1 {
		return nil, errors.New("the report is not SARIF")
	}
	if n := fmt.Sprint(len(sarif.Runs[0].Results)); n != outputs["findings"] {
		return nil, fmt.Errorf("the report has %s findings, and the output says %s", n, outputs["findings"])
	}
	return outputs, nil
}
