package main

import (
	"context"
	"fmt"
	"os"
)

func Example() {
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Println("error:", err)
	}
	// Output:
	// w: Progressing not ready yet, ask team-shop
	//   needs Secret ns-shop/key
	// web: Progressing the status is not of the present generation
	//   needs ServiceAccount ns-shop/robot
	// 3 replicas of 250m cpu each
	// InterpretStatus of demo.io/v1 Widget ns-shop/w by customization widget: widget/statusReflection:2: attempt to index obj.status, which is nil, with key 'phase'
	// (line 2)
}
