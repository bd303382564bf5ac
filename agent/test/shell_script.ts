// A shell script that stands for a program. It replaces an earlier one in one step, since a file
// that the kernel executes cannot be written to.
import { renameSync, writeFileSync } from 'node:fs';

export function putScript(path: string, script: string): void {
  writeFileSync(`${path}.new`, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  renameSync(`${path}.new`, path);
}
