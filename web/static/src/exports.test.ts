import assert from "node:assert/strict";
import { test } from "node:test";
import { csvField, exportName, markdownField, toCSV, toJSON, toMarkdown } from "./exports";

test("a CSV cell cannot become a formula", () => {
  assert.equal(csvField("=1+1"), "'=1+1");
  assert.equal(csvField("+cmd"), "'+cmd");
  assert.equal(csvField("-cmd"), "'-cmd");
  assert.equal(csvField("@SUM(A1)"), "'@SUM(A1)");
  assert.equal(csvField("\t=1"), "'\t=1");
  assert.equal(csvField(-3), "-3");
});

test("CSV quotes what it must", () => {
  assert.equal(csvField('void k<a, b>("x")'), '"void k<a, b>(""x"")"');
  assert.equal(csvField("two\nlines"), '"two\nlines"');
  assert.equal(csvField(null), "");
  assert.equal(csvField(0), "0");
  assert.equal(toCSV(["name", "total_ns"], [["a,b", 12]]), 'name,total_ns\r\n"a,b",12\r\n');
});

test("Markdown keeps its columns", () => {
  assert.equal(markdownField("a|b"), "a\\|b");
  assert.equal(markdownField("<img src=x>"), "&lt;img src=x&gt;");
  assert.equal(markdownField("one\n two"), "one two");
  assert.equal(markdownField("launch_forward_N64_B320"), "launch_forward_N64_B320");
  assert.equal(
    toMarkdown(["Name", "Total (ms)"], [false, true], [["a|b", "1.84"]]),
    "| Name | Total (ms) |\n| --- | ---: |\n| a\\|b | 1.84 |\n",
  );
});

test("JSON has null for what is absent", () => {
  assert.deepEqual(JSON.parse(toJSON(["n", "b"], [[1, null], [undefined, 2]])), [
    { n: 1, b: null },
    { n: null, b: 2 },
  ]);
});

test("file names hold nothing a path could use", () => {
  assert.equal(exportName("../../etc/pass wd.json.gz", "phases", "csv"), "etc_pass_wd-phases.csv");
  assert.equal(exportName("...", "steps", "md"), "trace-steps.md");
  assert.equal(exportName("vllm-h100-rank0.json.gz", "kernels", "json"), "vllm-h100-rank0-kernels.json");
});
