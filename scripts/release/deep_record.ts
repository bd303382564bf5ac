// The record of deep runs: which parts of `npm run test:deep` have passed on which tree, as git
// notes (refs/notes/deep).
import { execFileSync } from 'node:child_process';
import { kinds } from '../../test/lanes.mjs';

/** The parts of a deep run: the kinds of tests, and the soak. */
export const parts: readonly string[] = [...Object.keys(kinds), 'soak'];

/** The same for everyone: the note says what passed, not who looked. */
const identity = ['-c', 'user.name=Exitward', '-c', 'user.email=deep@exitward.invalid'];
const notes = [...identity, 'notes', '--ref', 'deep'];

/**
 * The parts that have not passed on the tree of the last commit of the repository in the folder.
 */
export function missingParts(root: string): string[] {
  const passed = new Set(notesOf(root).map((line) => line.split(' ')[0]));
  return parts.filter((part) => !passed.has(part));
}

/** Errors: parts have not passed on the tree of the last commit; the first is named. */
export function requireDeepRun(root: string): void {
  const [first, ...others] = missingParts(root);
  if (first === undefined) return;
  const more = others.length > 0 ? ` and ${others.length} more parts` : '';
  throw new Error(`${first}${more} of \`npm run test:deep\` have not passed on this tree; run it.`);
}

/**
 * Records that a part has passed on the tree of the last commit. `figures` says how: on one line.
 */
export function recordPart(root: string, part: string, figures: string): void {
  const others = notesOf(root).filter((line) => line.split(' ')[0] !== part);
  const text = [...others, `${part} ${figures}`].join('\n');
  git(root, [...notes, 'add', '--force', '--message', text, 'HEAD^{tree}']);
}

/** The lines of the note on the last commit's tree; none without one. */
function notesOf(root: string): string[] {
  const trees = git(root, [...notes, 'list']).split('\n');
  const tree = git(root, ['rev-parse', 'HEAD^{tree}']);
  if (!trees.some((line) => line.endsWith(` ${tree}`))) return [];
  return git(root, [...notes, 'show', tree])
    .split('\n')
    .filter(Boolean);
}

function git(root: string, args: string[]): string {
  return execFileSync('git', ['-C', root, ...args], { encoding: 'utf8', stdio: 'pipe' }).trim();
}
