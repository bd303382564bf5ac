// A shell script that stands for a program. It takes the place of an earlier one in one step: a
// file that the kernel is executing can't be written to.
import { renameSync, writeFileSync } from 'node:fs';

export function putScript(path: string, script: string): void {
  writeFileSync(`${path}.new`, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  renameSync(`${path}.new`, path);
}
