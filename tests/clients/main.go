// A Varlink client that is not ours: Debian's github.com/varlink/go against a private voltd.
//
//	varlink-client BIN-DIR FILE.varlink...
//
// It parses every interface description with that library's parser, the files and what the
// daemon answers, compares the two, submits, watches and waits, and provokes the standard errors.
// One line per check; the last line counts them.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"syscall"
	"time"

	"github.com/varlink/go/varlink"
	"github.com/varlink/go/varlink/idl"
)

var passed, failed int

func check(name string, good bool, why ...interface{}) bool {
	if good {
		passed++
		fmt.Println("ok", name)
	} else {
		failed++
		fmt.Println("FAILED", name+":", fmt.Sprint(why...))
	}
	return good
}

// The members of a description, so that two of them can be compared.
func members(text string) ([]string, error) {
	parsed, err := idl.New(text)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, member := range parsed.Aliases {
		names = append(names, "type "+member.Name)
	}
	for _, member := range parsed.Methods {
		names = append(names, "method "+member.Name)
	}
	for _, member := range parsed.Errors {
		names = append(names, "error "+member.Name)
	}
	sort.Strings(names)
	return names, nil
}

func interfaceName(path string) string {
	return strings.TrimSuffix(filepath.Base(path), ".varlink")
}

func parseFiles(files []string) map[string]string {
	texts := map[string]string{}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err == nil {
			_, err = members(string(text))
		}
		check("parse "+filepath.Base(path), err == nil, err)
		texts[interfaceName(path)] = string(text)
	}
	return texts
}

// A voltd with directories of its own; stop ends it and reports its status.
func startDaemon(bin string) (dir string, stop func() error, err error) {
	dir, err = os.MkdirTemp("", "volt-clients.")
	if err != nil {
		return
	}
	daemon := exec.Command(filepath.Join(bin, "voltd"), "--user", "--runtime-dir",
		filepath.Join(dir, "run"), "--state-dir", filepath.Join(dir, "state"))
	daemon.Stdout, daemon.Stderr = os.Stdout, os.Stderr
	if err = daemon.Start(); err != nil {
		return
	}
	stop = func() error {
		_ = daemon.Process.Signal(syscall.SIGTERM)
		err := daemon.Wait()
		_ = os.RemoveAll(dir)
		return err
	}
	return
}

func connect(ctx context.Context, path string) (*varlink.Connection, error) {
	for {
		c, err := varlink.NewConnection(ctx, "unix:"+path)
		if err == nil || ctx.Err() != nil {
			return c, err
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func introspect(ctx context.Context, c *varlink.Connection, texts map[string]string, want []string) {
	var vendor, product, version, url string
	var interfaces []string
	err := c.GetInfo(ctx, &vendor, &product, &version, &url, &interfaces)
	check("GetInfo", err == nil && product != "" && version != "", err)
	sort.Strings(interfaces)
	sort.Strings(want)
	check("interfaces", strings.Join(interfaces, " ") == strings.Join(want, " "), interfaces)
	for _, name := range interfaces {
		text, err := c.GetInterfaceDescription(ctx, name)
		if !check("describe "+name, err == nil, err) {
			continue
		}
		got, err := members(text)
		check("parse the answer for "+name, err == nil, err)
		if own, here := texts[name]; here {
			expected, _ := members(own)
			check("members of "+name, fmt.Sprint(got) == fmt.Sprint(expected), got)
			check("comments of "+name, strings.Contains(text, "# "), text)
		}
	}
}

func provokeErrors(ctx context.Context, c *varlink.Connection) {
	type empty struct{}
	err := c.Call(ctx, "org.voltd.none.Method", empty{}, nil)
	var noInterface *varlink.InterfaceNotFound
	check("InterfaceNotFound", errors.As(err, &noInterface), err)
	err = c.Call(ctx, "org.voltd.jobs.None", empty{}, nil)
	var noMethod *varlink.MethodNotFound
	check("MethodNotFound", errors.As(err, &noMethod), err)
	err = c.Call(ctx, "org.voltd.jobs.Get", map[string]string{"colour": "red"}, nil)
	var invalid *varlink.InvalidParameter
	check("InvalidParameter names it", errors.As(err, &invalid) && invalid.Parameter == "colour", err)
	err = c.Call(ctx, "org.voltd.jobs.Watch", empty{}, nil)
	check("ExpectedMore", err != nil && err.Error() == "org.varlink.service.ExpectedMore", err)
	err = c.Call(ctx, "org.voltd.jobs.Get", map[string]string{"id": "999999"}, nil)
	check("NoSuchJob", err != nil && err.Error() == "org.voltd.jobs.NoSuchJob", err)
}

type spec struct {
	Argv []string          `json:"argv"`
	Name string            `json:"name"`
	Env  map[string]string `json:"env,omitempty"`
}

type event struct {
	Id     string `json:"id"`
	Event  string `json:"event"`
	State  string `json:"state"`
	Result string `json:"result"`
	Status int    `json:"exit_status"`
}

// Watches on one connection while submitting on the other, until the job has ended.
func submitAndWatch(ctx context.Context, calls, watching *varlink.Connection) {
	type filter struct {
		Name string `json:"name"`
	}
	type watch struct {
		Filter filter `json:"filter"`
	}
	receive, err := watching.Send(ctx, "org.voltd.jobs.Watch", watch{filter{"go"}}, varlink.More)
	if !check("Watch", err == nil, err) {
		return
	}
	var first struct {
		Jobs   []struct{ Id string } `json:"jobs"`
		Cursor int                   `json:"cursor"`
	}
	flags, err := receive(ctx, &first)
	check("Watch begins with a snapshot", err == nil && flags == varlink.Continues && len(first.Jobs) == 0, err)

	var submitted struct {
		Id      string `json:"id"`
		Created bool   `json:"created"`
		Durable bool   `json:"durable"`
	}
	job := spec{[]string{"/bin/sh", "-c", "echo from go; exit 3"}, "go", map[string]string{"PATH": "/bin"}}
	err = calls.Call(ctx, "org.voltd.jobs.Submit", map[string]spec{"spec": job}, &submitted)
	if !check("Submit", err == nil && submitted.Id != "" && submitted.Created && submitted.Durable, err, submitted) {
		return
	}

	var seen []string
	last := event{}
	for err == nil && last.State != "done" {
		var news struct {
			Events []event `json:"events"`
		}
		if _, err = receive(ctx, &news); err != nil {
			break
		}
		for _, e := range news.Events {
			if e.Id == submitted.Id {
				seen = append(seen, e.Event)
				last = e
			}
		}
	}
	check("Watch tells the whole story", err == nil && len(seen) >= 3 && seen[0] == "submit" &&
		seen[len(seen)-1] == "exited", err, seen)
	check("the event has the exact status", last.Result == "exit" && last.Status == 3, last)

	var waited struct {
		Left     int  `json:"left"`
		Failed   int  `json:"failed"`
		ExitCode *int `json:"exit_code"`
	}
	// An event is told when it is kept; the job may be a moment behind. Wait tells when it has ended.
	told, err := calls.Send(ctx, "org.voltd.jobs.Wait", map[string][]string{"ids": {submitted.Id}}, varlink.More)
	for more := uint64(varlink.Continues); err == nil && more&varlink.Continues != 0; {
		more, err = told(ctx, &waited)
	}
	check("Wait", err == nil && waited.Left == 0 && waited.Failed == 1 && waited.ExitCode != nil &&
		*waited.ExitCode == 3, err, waited)

	var output struct {
		Data string `json:"data"`
		End  bool   `json:"end"`
	}
	err = calls.Call(ctx, "org.voltd.logs.Read", map[string]string{"id": submitted.Id}, &output)
	check("Read its output", err == nil && output.End && output.Data == "ZnJvbSBnbwo=", err, output)
}

func controlSocket(ctx context.Context, c *varlink.Connection) {
	var stats struct {
		Workers []struct {
			Polled int `json:"polled"`
		} `json:"workers"`
		Totals struct {
			Spawned   int `json:"spawned"`
			Completed int `json:"completed"`
			Live      int `json:"live"`
		} `json:"totals"`
	}
	err := c.Call(ctx, "org.voltd.control.Stats", nil, &stats)
	check("Stats", err == nil && len(stats.Workers) > 0, err)
	check("Stats add up", stats.Totals.Spawned == stats.Totals.Completed+stats.Totals.Live, stats)
}

func main() {
	bin, files := os.Args[1], os.Args[2:]
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	texts := parseFiles(files)

	dir, stop, err := startDaemon(bin)
	if check("voltd starts", err == nil, err) {
		socket := filepath.Join(dir, "run", "voltd.sock")
		calls, err := connect(ctx, socket)
		check("connect", err == nil, err)
		watching, err2 := connect(ctx, socket)
		control, err3 := connect(ctx, filepath.Join(dir, "run", "control.sock"))
		if check("connect again, and to the control socket", err == nil && err2 == nil && err3 == nil, err2, err3) {
			both := []string{"org.varlink.service", "org.voltd.jobs", "org.voltd.logs"}
			introspect(ctx, calls, texts, both)
			introspect(ctx, control, texts, append(both, "org.voltd.control"))
			provokeErrors(ctx, calls)
			submitAndWatch(ctx, calls, watching)
			controlSocket(ctx, control)
		}
		err = stop()
		check("voltd ends with success", err == nil, err)
	}
	fmt.Printf("clients passed=%d failed=%d\n", passed, failed)
	if failed > 0 {
		os.Exit(1)
	}
}
