module github.com/stepscope/stepscope/e2e

go 1.26.0

replace github.com/stepscope/stepscope => ../

require (
	github.com/chromedp/cdproto v0.159.0
	github.com/chromedp/chromedp v0.23.0
	github.com/stepscope/stepscope v0.0.0-00010101000000-000000000000
)

require github.com/go-json-experiment/json v0.0.0-20260213210345-44df1a37e875 // indirect
