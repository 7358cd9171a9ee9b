// SPDX-License-Identifier: MIT

// The workloads on Temporal: a worker with the Go SDK and default options beside the
// development server.
//
//	temporal HOST:PORT SECONDS WORKLOAD:IN_FLIGHT…
package main

import (
	"context"
	"log/slog"
	"os"
	"time"

	"bench/load"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

func step(ctx context.Context, input string) (string, error) { return load.Output, nil }

func bench(ctx workflow.Context, workload string) (string, error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute})
	steps, atOnce := load.Steps(workload)
	var all []workflow.Future
	for i := 0; i < steps; i++ {
		f := workflow.ExecuteActivity(ctx, step, load.Input)
		if atOnce {
			all = append(all, f)
		} else if err := f.Get(ctx, nil); err != nil {
			return "", err
		}
	}
	for _, f := range all {
		if err := f.Get(ctx, nil); err != nil {
			return "", err
		}
	}
	return load.Output, nil
}

func main() {
	quiet := log.NewStructuredLogger(slog.New(slog.DiscardHandler))
	c, err := client.Dial(client.Options{HostPort: os.Args[1], Logger: quiet})
	load.Check(err)
	w := worker.New(c, "bench", worker.Options{})
	w.RegisterWorkflow(bench)
	w.RegisterActivity(step)
	load.Check(w.Start())
	load.Workflows(os.Args[2], os.Args[3:], func(id, workload string) error {
		run, err := c.ExecuteWorkflow(context.Background(), client.StartWorkflowOptions{ID: id, TaskQueue: "bench"}, bench, workload)
		if err != nil {
			return err
		}
		return run.Get(context.Background(), nil)
	})
}
