// Mutants breaks the program in one place at a time, and checks that TestCompany of
// internal/command/cli notices each fault as the promise that it breaks:
//
//	go run ./test/mutants
//	go run ./test/mutants -name 'Retry-After|secret' -seeds 100
//
// A line has the promise, the fault and the first setting that breaks one: one that is known, or a
// seed. It exits with 1 if none does, if the named promise is not among those that this setting
// breaks, if the text of the table is not in the file exactly once, or if a promise is broken
// without a fault. Nothing in the repository changes: the compiler gets the file with the fault in
// place of the other one.
//
//	main.go     the runs
//	table.go    a fault, and what it changes
//	mutants.txt the faults
package main

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

func main() {
	name := flag.String("name", "", "only faults whose name matches this `REGEXP`")
	settings := flag.String("run", "", "only settings whose name matches this `REGEXP`, such as seed=")
	seeds := flag.Int("seeds", 60, "`N` seeds for each fault, after the settings that are known")
	flag.Parse()

	chosen, err := regexp.Compile(*name)
	if err == nil {
		err = run(chosen, *settings, *seeds)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

// run tries the program as it is, and then with each fault that is chosen.
func run(chosen *regexp.Regexp, settings string, seeds int) error {
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)

	tries, missed := 0, 0
	for _, m := range append([]mutant{{name: "no fault"}}, readTable(table)...) {
		if !chosen.MatchString(m.name) {
			continue
		}
		tries++
		found, err := m.try(dir, settings, seeds)
		if err != nil {
			missed++
			found = "MISSED: " + err.Error()
		}
		fmt.Printf("%-9s %-50s %s\n", m.promise, m.name, found)
	}
	if tries == 0 {
		return fmt.Errorf("no fault has a name that matches %s", chosen)
	}
	if missed > 0 {
		return fmt.Errorf("%d of %d are not as they should be", missed, tries)
	}
	return nil
}

// try runs settings until one breaks a promise, and says which.
func (m mutant) try(dir, settings string, seeds int) (found string, err error) {
	program := filepath.Join(dir, "mutant.test")
	err = m.build(dir, program)
	if err != nil {
		return "", err
	}

	cmd := exec.Command(program, "-test.run=^TestCompany$/"+settings, "-test.failfast",
		"-test.timeout=0")
	cmd.Dir = "internal/command/cli"
	cmd.Env = append(os.Environ(), fmt.Sprint("TEST_SEEDS=", seeds))
	out, err := cmd.CombinedOutput()
	setting, broken := brokenPromises(string(out))
	switch {
	case m.promise == "" && err != nil, err != nil && setting == "":
		return "", fmt.Errorf("%w\n%s", err, out[:min(len(out), 4000)])
	case m.promise == "":
		return "no promise is broken", nil
	case setting == "":
		return "", fmt.Errorf("no promise is broken in %d seeds", seeds)
	case !slices.Contains(broken, m.promise):
		return "", fmt.Errorf("%s breaks %s", setting, strings.Join(broken, ", "))
	}
	return fmt.Sprintf("%s (%s)", setting, strings.Join(broken, ", ")), nil
}

var brokenPromise = regexp.MustCompile(
	`\bpromise (\w+): (?:TestCompany/)?(seed=\d+|known/\S+?)(?::| hangs)`)

// brokenPromises returns the first setting that breaks promises, and their names.
func brokenPromises(out string) (setting string, names []string) {
	for _, match := range brokenPromise.FindAllStringSubmatch(out, -1) {
		setting = cmp.Or(setting, match[2])
		if match[2] == setting {
			names = append(names, match[1])
		}
	}
	slices.Sort(names)
	return setting, slices.Compact(names)
}

// build builds the test with the fault. The file with the fault is in dir, in place of the one in
// the repository.
func (m mutant) build(dir, program string) error {
	overlay := map[string]string{}
	if m.file != "" {
		text, err := m.apply("")
		if err != nil {
			return err
		}
		original, err := filepath.Abs(m.file)
		if err != nil {
			return err
		}
		overlay[original] = filepath.Join(dir, filepath.Base(m.file))
		err = os.WriteFile(overlay[original], []byte(text), 0o600)
		if err != nil {
			return err
		}
	}
	list, err := json.Marshal(map[string]any{"Replace": overlay})
	if err != nil {
		return err
	}
	file := filepath.Join(dir, "overlay.json")
	err = os.WriteFile(file, list, 0o600)
	if err != nil {
		return err
	}

	cmd := exec.Command("go", "test", "-c", "-ldflags=-s -w", "-overlay", file,
		"-o", program, "./internal/command/cli")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
}
