package luakube_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/kubeinterpret/interpret/luakube"
)

func ExampleEngine_Compile() {
	engine, err := luakube.New()
	if err != nil {
		log.Fatal(err)
	}
	script, err := engine.Compile("widgets/statusReflection", `
function ReflectStatus(obj)
  return {ready = obj.status.readyReplicas, of = obj.spec.replicas}
end`, "ReflectStatus")
	if err != nil {
		log.Fatal(err)
	}
	widget := map[string]any{
		"spec":   map[string]any{"replicas": int64(3)},
		"status": map[string]any{"readyReplicas": int64(2)},
	}
	var status any
	_, err = script.Call(context.Background(), &luakube.Call{
		Args: []any{widget},
		Rets: []luakube.Ret{{Noun: "status", Into: &status}},
	})
	fmt.Println(status, err)

	_, err = engine.Compile("widgets/statusReflection", "function ReflectSatus(obj) end", "ReflectStatus")
	fmt.Println(err)
	// Output:
	// map[of:3 ready:2] <nil>
	// widgets/statusReflection: the script defines no function ReflectStatus; is ReflectSatus meant to be it?
}

func ExampleWithLimits() {
	engine, err := luakube.New(luakube.WithLimits(luakube.Limits{Instructions: 10_000, Memory: 1 << 20, Time: time.Second}))
	if err != nil {
		log.Fatal(err)
	}
	script, err := engine.Compile("widgets/health", "function InterpretHealth(obj)\n  while true do end\nend", "InterpretHealth")
	if err != nil {
		log.Fatal(err)
	}
	_, err = script.Call(context.Background(), &luakube.Call{Args: []any{map[string]any{}}})
	fmt.Println(err)
	fmt.Println(errors.Is(err, luakube.ErrLimit))
	// Output:
	// widgets/health:2: exceeded 10000 instructions (limits: 10000 instructions, 1Mi of memory, 1s)
	// true
}

func ExampleWithModule() {
	engine, err := luakube.New(
		luakube.WithModule("images", map[string]any{
			"registry": func(image string) string { host, _, _ := strings.Cut(image, "/"); return host },
		}),
		luakube.WithScriptModule("names", `return {upper = function(s) return string.upper(s) end}`),
	)
	if err != nil {
		log.Fatal(err)
	}
	script, err := engine.Compile("widgets/statusReflection", `
local images, names = require("images"), require("names")
function ReflectStatus(obj)
  return {registry = images.registry(obj.spec.image), name = names.upper(obj.metadata.name)}
end`, "ReflectStatus")
	if err != nil {
		log.Fatal(err)
	}
	var status any
	_, err = script.Call(context.Background(), &luakube.Call{
		Args: []any{map[string]any{"metadata": map[string]any{"name": "w"}, "spec": map[string]any{"image": "ghcr.io/demo/w:v1"}}},
		Rets: []luakube.Ret{{Noun: "status", Into: &status}},
	})
	fmt.Println(status, err)
	// Output: map[name:W registry:ghcr.io] <nil>
}

func ExampleWithLog() {
	withoutTime := func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}
	logger := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: withoutTime}))
	engine, err := luakube.New(luakube.WithLog(logger))
	if err != nil {
		log.Fatal(err)
	}
	script, err := engine.Compile("widgets/health", `function InterpretHealth(obj) print("ready", obj.ready) end`, "InterpretHealth")
	if err != nil {
		log.Fatal(err)
	}
	_, err = script.Call(context.Background(), &luakube.Call{Args: []any{map[string]any{"ready": true}}})
	fmt.Println(err)
	// Output:
	// level=INFO msg="ready\ttrue" script=widgets/health
	// <nil>
}

func ExampleEngine_Analyze() {
	engine, err := luakube.New()
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range engine.Analyze("function InterpretHealth(obj)\n  return ojb.status.ready\nend") {
		fmt.Printf("%d:%d: %s\n", f.Line, f.Column, f.Message)
	}
	// Output: 2:10: the global ojb is read and never set
}

func ExampleFunctions() {
	for _, f := range luakube.Functions()[:2] {
		fmt.Println(f.Signature)
	}
	// Output:
	// resourceAdd(quantity, ...) -> quantity
	// getResourceQuantity(quantity) -> number
}
