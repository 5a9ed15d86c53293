// Package e2e tests Stepscope as people use it: the built program serving on
// loopback, its pages in Chromium. It is a module of its own, so that the
// browser driver stays out of the product's dependencies.
//
// The tests read these variables; make test sets the first two:
//
//	STEPSCOPE_BIN         the built program; default ../bin/stepscope
//	STEPSCOPE_CHROMIUM    the browser; default what scripts/install-chromium.sh finds
//	STEPSCOPE_CORPUS      folder with traces/ and cases/, for the tests on real traces
//	STEPSCOPE_NO_BROWSER  1 leaves all of them out, for machines where no browser can be had
//
// Screenshots of the pages' states are written to out/, those of every page in
// both languages, light and dark, to out/pages/, to be looked at. A run of all
// tests begins with an empty out/.
//
// No test accepts a console error, a violation of the content security policy,
// an uncaught exception or a request to anything but the server, in any state.
package e2e
