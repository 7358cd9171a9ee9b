// SPDX-License-Identifier: MIT
// With the client that openapi-generator made (go): push, pop, acknowledge.
package main

import (
	"context"
	"fmt"
	"os"

	pawl "pawl/client"
)

func must(ok bool, what any, err error) {
	if !ok || err != nil {
		fmt.Printf("%+v %v\n", what, err)
		os.Exit(1)
	}
}

func main() {
	config := pawl.NewConfiguration()
	config.Servers = pawl.ServerConfigurations{{URL: os.Args[1]}}
	ctx := context.WithValue(context.Background(), pawl.ContextAccessToken, os.Args[2])
	api := pawl.NewAPIClient(config).QueuesAPI

	one := pawl.NewPushOne(map[string]any{"n": 1})
	one.SetPriority(5)
	pushed, _, err := api.Push(ctx, "made").Push(pawl.PushOneAsPush(one)).IdempotencyKey("k").Execute()
	must(err == nil && pushed.GetSuccess() && !pushed.GetDuplicate(), pushed, err)
	got, _, err := api.Pop(ctx, "made").RequireAck(true).Execute()
	must(err == nil && len(got.GetItems()) == 1 && fmt.Sprint(got.GetItems()[0]) == "map[n:1]", got, err)
	lock := pawl.NewAcknowledgeOne(got.GetLockId())
	done, _, err := api.Ack(ctx, "made").Acknowledge(pawl.AcknowledgeOneAsAcknowledge(lock)).Execute()
	must(err == nil && done.GetItemsAcknowledged() == 1, done, err)
	rest, _, err := api.Pop(ctx, "made").Execute()
	must(err == nil && len(rest.GetItems()) == 0, rest, err)
	fmt.Println("ok")
}
