// A Varlink client that is not ours: Debian's github.com/varlink/go against a private voltd.
//
//	varlink-client BIN-DIR FILE.varlink...
//
// It parses every interface description with that library's parser, the files and what the
// daemon answers, compares the two, calls every method that they have, and provokes the standard
// errors. One line per check; the last line counts them.
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
	"time"

	"github.com/varlink/go/varlink"
	"github.com/varlink/go/varlink/idl"
)

var passed, failed int

// Methods that have been called with success.
var called = map[string]bool{}

type none struct{}

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

// One call with one answer.
func call(ctx context.Context, c *varlink.Connection, method string, in, out interface{}) bool {
	err := c.Call(ctx, method, in, out)
	called[method] = called[method] || err == nil
	return check(method, err == nil, err)
}

// A call that is answered with this error.
func refused(ctx context.Context, c *varlink.Connection, method string, in interface{}, name string) {
	err := c.Call(ctx, method, in, nil)
	called[method] = err != nil && err.Error() == name
	check(method+" is refused", called[method], err)
}

// A call with `more`: each answer goes to take, which is false when that is enough; the last one at
// the latest. Afterwards the connection is of no further use unless the last one came.
func stream(ctx context.Context, c *varlink.Connection, method string, in, out interface{}, take func(last bool) bool) bool {
	receive, err := c.Send(ctx, method, in, varlink.More)
	for more := true; err == nil && more; {
		var flags uint64
		flags, err = receive(ctx, out)
		more = err == nil && flags&varlink.Continues != 0
		if err == nil && !take(!more) {
			break
		}
	}
	called[method] = called[method] || err == nil
	return check(method+" with more", err == nil, err)
}

// Every method of the descriptions was called.
func coverage(texts map[string]string) {
	for name, text := range texts {
		parsed, err := idl.New(text)
		if err != nil {
			continue // said
		}
		for _, method := range parsed.Methods {
			full := name + "." + method.Name
			check("called "+full, called[full] || name == "org.varlink.service")
		}
	}
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

// A voltd with directories of its own; ended waits for its end, which it was asked for, and reports
// its status.
func startDaemon(bin string) (dir string, ended func() error, err error) {
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
	ended = func() error {
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
	err := c.Call(ctx, "org.voltd.none.Method", none{}, nil)
	var noInterface *varlink.InterfaceNotFound
	check("InterfaceNotFound", errors.As(err, &noInterface), err)
	err = c.Call(ctx, "org.voltd.jobs.None", none{}, nil)
	var noMethod *varlink.MethodNotFound
	check("MethodNotFound", errors.As(err, &noMethod), err)
	err = c.Call(ctx, "org.voltd.jobs.Get", map[string]string{"colour": "red"}, nil)
	var invalid *varlink.InvalidParameter
	check("InvalidParameter names it", errors.As(err, &invalid) && invalid.Parameter == "colour", err)
	err = c.Call(ctx, "org.voltd.jobs.Watch", none{}, nil)
	check("ExpectedMore", err != nil && err.Error() == "org.varlink.service.ExpectedMore", err)
	err = c.Call(ctx, "org.voltd.jobs.Get", map[string]string{"id": "999999"}, nil)
	check("NoSuchJob", err != nil && err.Error() == "org.voltd.jobs.NoSuchJob", err)
}

type spec struct {
	Kind     string            `json:"kind,omitempty"`
	Argv     []string          `json:"argv,omitempty"`
	Name     string            `json:"name,omitempty"`
	Env      map[string]string `json:"env,omitempty"`
	Duration int64             `json:"duration_usec,omitempty"`
	Hold     bool              `json:"hold,omitempty"`
}

type filter struct {
	Ids     []string `json:"ids,omitempty"`
	Name    string   `json:"name,omitempty"`
	Results []string `json:"results,omitempty"`
}

type job struct {
	Id     string `json:"id"`
	Name   string `json:"name"`
	State  string `json:"state"`
	Result string `json:"result"`
	Status int    `json:"exit_status"`
	Signal string `json:"signal"`
	Spec   spec   `json:"spec"`
}

type event struct {
	Id     string `json:"id"`
	Event  string `json:"event"`
	State  string `json:"state"`
	Result string `json:"result"`
	Status int    `json:"exit_status"`
}

type waited struct {
	Jobs     []job `json:"jobs"`
	Left     int   `json:"left"`
	Failed   int   `json:"failed"`
	ExitCode *int  `json:"exit_code"`
}

const jobs, locks, logs, queues, control = "org.voltd.jobs.", "org.voltd.locks.", "org.voltd.logs.", "org.voltd.queues.", "org.voltd.control."

type params map[string]interface{}

// An event is told when it is kept; the job may be a moment behind. Wait tells when it has ended.
func wait(ctx context.Context, c *varlink.Connection, ids ...string) (last waited) {
	stream(ctx, c, jobs+"Wait", params{"ids": ids}, &last, func(bool) bool { return true })
	return
}

func submit(ctx context.Context, c *varlink.Connection, s spec) string {
	var got struct {
		Id      string `json:"id"`
		Created bool   `json:"created"`
		Durable bool   `json:"durable"`
	}
	call(ctx, c, jobs+"Submit", params{"spec": s}, &got)
	check("it is a new durable job", got.Id != "" && got.Created && got.Durable, got)
	return got.Id
}

// Watches on one connection while submitting on the other, until the job has ended. Returns its id.
func submitAndWatch(ctx context.Context, calls, watching *varlink.Connection) (id string) {
	var news struct {
		Jobs   []job   `json:"jobs"`
		Events []event `json:"events"`
		Cursor int     `json:"cursor"`
	}
	var seen []string
	var last event
	stream(ctx, watching, jobs+"Watch", params{"filter": filter{Name: "go"}}, &news, func(bool) bool {
		if id == "" {
			check("Watch begins with a snapshot", len(news.Jobs) == 0 && len(news.Events) == 0, news)
			id = submit(ctx, calls, spec{Argv: []string{"/bin/sh", "-c", "echo from go; exit 3"}, Name: "go",
				Env: map[string]string{"PATH": "/bin"}})
		}
		for _, e := range news.Events {
			if e.Id == id {
				seen, last = append(seen, e.Event), e
			}
		}
		news.Events = nil
		return last.State != "done"
	})
	check("Watch tells the whole story", len(seen) >= 3 && seen[0] == "submit" && seen[len(seen)-1] == "exited", seen)
	check("the event has the exact status", last.Result == "exit" && last.Status == 3, last)
	w := wait(ctx, calls, id)
	check("Wait has it as well", w.Left == 0 && w.Failed == 1 && w.ExitCode != nil && *w.ExitCode == 3, w)
	return
}

func readOutput(ctx context.Context, c *varlink.Connection, id string) {
	var output struct {
		Data string `json:"data"`
		End  bool   `json:"end"`
	}
	call(ctx, c, logs+"Read", params{"id": id}, &output)
	check("its output", output.End && output.Data == "ZnJvbSBnbwo=", output)
	stream(ctx, c, logs+"Read", params{"id": id, "offset": 5}, &output, func(bool) bool { return true })
	check("its output from an offset on", output.End && output.Data == "Z28K", output)
	// The library takes no descriptors; the answer beside it counts.
	var opened struct {
		Size  int  `json:"size_bytes"`
		Ended bool `json:"ended"`
	}
	call(ctx, c, logs+"Open", params{"id": id}, &opened)
	check("the size of its output", opened.Size == 8 && opened.Ended, opened)
}

func listLocks(ctx context.Context, c *varlink.Connection) {
	var used struct {
		Locks []struct {
			Name string `json:"name"`
		} `json:"locks"`
	}
	call(ctx, c, locks+"List", none{}, &used)
	check("no locks", len(used.Locks) == 0, used)
	call(ctx, c, locks+"Resize", params{"name": "tape", "capacity": 2}, nil)
	call(ctx, c, locks+"List", none{}, &used)
	check("a semaphore", len(used.Locks) == 1 && used.Locks[0].Name == "tape", used)
	refused(ctx, c, locks+"Free", params{"name": "tape"}, locks+"Refused") // no job has ended with it
	call(ctx, c, locks+"Reset", params{"name": "tape"}, nil)
	// The lease is a descriptor beside the answer, which this library does not take: it is given up at once.
	call(ctx, c, locks+"Acquire", params{"name": "film", "command": "a test"}, nil)
}

func listQueues(ctx context.Context, c *varlink.Connection) {
	var there struct {
		Queues []struct {
			Name     string `json:"name"`
			Paused   bool   `json:"paused"`
			Drained  bool   `json:"drained"`
			Settings struct {
				Slots  int `json:"slots"`
				Weight int `json:"weight"`
			} `json:"settings"`
		} `json:"queues"`
	}
	call(ctx, c, queues+"Set", params{"name": "default", "slots": 3}, nil)
	call(ctx, c, queues+"Pause", params{"name": "default"}, nil)
	call(ctx, c, queues+"List", none{}, &there)
	first := there.Queues[0]
	check("a paused queue", first.Name == "default" && first.Paused && first.Settings.Slots == 3, there)
	call(ctx, c, queues+"Resume", params{"name": "default"}, nil)
	call(ctx, c, queues+"Reset", params{"name": "default"}, nil)
	call(ctx, c, queues+"Create", params{"name": "night", "weight": 3}, nil)
	call(ctx, c, queues+"Drain", params{"name": "night"}, nil)
	call(ctx, c, queues+"List", none{}, &there)
	check("a drained queue", len(there.Queues) == 2 && there.Queues[1].Name == "night" && there.Queues[1].Drained &&
		there.Queues[1].Settings.Weight == 3, there)
	call(ctx, c, queues+"Delete", params{"name": "night"}, nil)
}

func many(ctx context.Context, c *varlink.Connection) {
	var batch struct {
		Ids      []string `json:"ids"`
		Rejected []struct {
			Position  int    `json:"position"`
			Parameter string `json:"parameter"`
		} `json:"rejected"`
	}
	specs := []spec{{Name: "a"}, {Name: "b", Kind: "sleep", Duration: 600e6}, {Name: "c", Duration: 1}}
	call(ctx, c, jobs+"SubmitBatch", params{"specs": specs, "defaults": spec{Kind: "noop"}}, &batch)
	if !check("a batch with one that is wrong", len(batch.Ids) == 3 && len(batch.Rejected) == 1 &&
		batch.Rejected[0].Position == 2 && batch.Rejected[0].Parameter == "duration_usec", batch) {
		return
	}
	var one struct {
		Job job `json:"job"`
	}
	call(ctx, c, jobs+"Get", params{"id": batch.Ids[0], "with_spec": true}, &one)
	check("what Get says", one.Job.Name == "a" && one.Job.Spec.Kind == "noop", one)

	var list struct {
		Jobs   []job  `json:"jobs"`
		Cursor string `json:"cursor"`
	}
	call(ctx, c, jobs+"List", params{"limit": 2, "newest_first": true}, &list)
	check("a page", len(list.Jobs) == 2 && list.Jobs[0].Name == "b" && list.Cursor != "", list)
	n := 0
	stream(ctx, c, jobs+"List", params{"fields": []string{"state"}}, &list, func(bool) bool {
		n += len(list.Jobs)
		return true
	})
	check("all of them", n == 3, n)

	var count struct {
		Count int `json:"count"`
	}
	call(ctx, c, jobs+"Cancel", params{"filter": filter{Name: "b"}}, &count)
	check("one was asked to end", count.Count == 1, count)
	w := wait(ctx, c, batch.Ids[0], batch.Ids[1])
	check("one was cancelled", w.Failed == 1 && len(w.Jobs) == 2 && w.Jobs[1].Result == "cancelled", w)
	call(ctx, c, jobs+"Forget", params{"filter": filter{Results: []string{"failed"}}}, &count)
	check("the failed ones are forgotten", count.Count == 2, count)
}

// A job that runs stands still, goes on, and is killed.
func kill(ctx context.Context, calls *varlink.Connection) {
	id := submit(ctx, calls, spec{Argv: []string{"/bin/sleep", "600"}})
	var one struct {
		Job job `json:"job"`
	}
	for one.Job.State != "running" && ctx.Err() == nil {
		if err := calls.Call(ctx, jobs+"Get", params{"id": id}, &one); err != nil {
			break
		}
	}
	var count struct {
		Count int `json:"count"`
	}
	call(ctx, calls, jobs+"Pause", params{"ids": []string{id}}, &count)
	call(ctx, calls, jobs+"Get", params{"id": id}, &one)
	check("one is paused", count.Count == 1 && one.Job.State == "paused", count, one)
	call(ctx, calls, jobs+"Resume", params{"ids": []string{id}}, &count)
	check("one goes on", count.Count == 1, count)
	call(ctx, calls, jobs+"Signal", params{"id": id, "signal": "SIGKILL", "whom": "main"}, nil)
	w := wait(ctx, calls, id)
	check("the signal has its name", len(w.Jobs) == 1 && w.Jobs[0].Result == "signal" && w.Jobs[0].Signal == "SIGKILL", w)
	var attempts struct {
		Attempts []struct {
			Attempt int    `json:"attempt"`
			Result  string `json:"result"`
		} `json:"attempts"`
	}
	call(ctx, calls, jobs+"Attempts", params{"id": id}, &attempts)
	check("its only attempt", len(attempts.Attempts) == 1 && attempts.Attempts[0].Result == "signal", attempts)
}

// One that is held starts when it is released.
func hold(ctx context.Context, calls *varlink.Connection) {
	id := submit(ctx, calls, spec{Argv: []string{"/bin/true"}, Hold: true})
	var edited struct {
		Count int `json:"count"`
	}
	call(ctx, calls, jobs+"Edit", params{"ids": []string{id}, "changes": params{"priority": -2}}, &edited)
	check("one that waits is edited", edited.Count == 1, edited)
	var count struct {
		Count int `json:"count"`
	}
	call(ctx, calls, jobs+"Hold", params{"ids": []string{id}}, &count)
	check("one is held", count.Count == 1, count)
	var why struct {
		State   string `json:"state"`
		Reasons []struct {
			Wait string `json:"wait"`
		} `json:"reasons"`
	}
	call(ctx, calls, jobs+"Why", params{"id": id}, &why)
	check("it says why it waits", why.State == "queued" && len(why.Reasons) == 1 && why.Reasons[0].Wait == "hold", why)
	call(ctx, calls, jobs+"Release", params{"ids": []string{id}}, &count)
	check("one was released", count.Count == 1, count)
	w := wait(ctx, calls, id)
	check("and has run", len(w.Jobs) == 1 && w.Jobs[0].Result == "success", w)
}

func controlSocket(ctx context.Context, c, other *varlink.Connection) {
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
	add := func() bool {
		return len(stats.Workers) > 0 && stats.Totals.Spawned == stats.Totals.Completed+stats.Totals.Live
	}
	call(ctx, c, control+"Stats", none{}, &stats)
	check("Stats add up", add(), stats)
	n := 0
	stream(ctx, other, control+"WatchStats", params{"interval_usec": 100000}, &stats, func(bool) bool {
		n++
		return n < 2
	})
	check("they do each time", n == 2 && add(), stats)
	var tasks struct {
		Tasks []struct {
			State string `json:"state"`
			Count int    `json:"count"`
		} `json:"tasks"`
	}
	call(ctx, c, control+"Tasks", none{}, &tasks)
	check("one runs at least, which answers", len(tasks.Tasks) > 0 && tasks.Tasks[0].Count > 0, tasks)
	var config struct {
		Settings map[string]string `json:"settings"`
		Files    []string          `json:"files"`
	}
	call(ctx, c, control+"Config", none{}, &config)
	check("a setting", config.Settings["Store.Sync"] == "on", config)
	var reloaded struct {
		Needs []string `json:"needs_restart"`
	}
	call(ctx, c, control+"Reload", none{}, &reloaded)
	check("nothing has changed", reloaded.Needs != nil && len(reloaded.Needs) == 0, reloaded)
}

func main() {
	bin, files := os.Args[1], os.Args[2:]
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	texts := parseFiles(files)

	dir, ended, err := startDaemon(bin)
	if check("voltd starts", err == nil, err) {
		var sockets [4]*varlink.Connection
		for i := range sockets {
			name := "voltd.sock"
			if i > 1 {
				name = "control.sock"
			}
			sockets[i], err = connect(ctx, filepath.Join(dir, "run", name))
			check("connect to "+name, err == nil, err)
		}
		if failed == 0 {
			calls, watching := sockets[0], sockets[1]
			all := []string{"org.varlink.service", "org.voltd.control", "org.voltd.jobs", "org.voltd.locks", "org.voltd.logs", "org.voltd.queues"}
			introspect(ctx, calls, texts, all)
			introspect(ctx, sockets[2], texts, all)
			provokeErrors(ctx, calls)
			readOutput(ctx, calls, submitAndWatch(ctx, calls, watching))
			many(ctx, calls)
			listLocks(ctx, calls)
			listQueues(ctx, calls)
			kill(ctx, calls)
			hold(ctx, calls)
			controlSocket(ctx, sockets[2], sockets[3])
		}
		var left struct {
			Left int `json:"left"`
		}
		stream(ctx, sockets[2], control+"Shutdown", params{"cancel": true, "wait": true}, &left, func(bool) bool { return true })
		check("nothing is left", left.Left == 0, left)
		err = ended()
		check("voltd ends with success", err == nil, err)
		coverage(texts)
	}
	fmt.Printf("clients passed=%d failed=%d\n", passed, failed)
	if failed > 0 {
		os.Exit(1)
	}
}
