// exitward apply: changes a part of the network to what one file declares, after showing a plan.

import { Failure, RequestFailure } from '../../../kit/src/cli/failures.ts';
import { type Column, counted, notify, type Shown, table } from '../../../kit/src/cli/output.ts';
import { confirmed } from '../../../kit/src/cli/question.ts';
import { bytesInWords, timeInWords } from '../../../kit/src/cli/values.ts';
import { type Count, countsInWords } from './actions.ts';
import type { AdminApi } from './api.ts';
import type { Row } from './columns.ts';
import type { Verb } from './command.ts';
import { FaultyFile } from './failures.ts';
import type { ManifestFile } from './manifest.ts';

interface Change extends Row {
  action: 'create' | 'change' | 'adopt' | 'remove';
  kind: string;
  name: string;
  differences: Array<{ field: string; before: unknown; after: unknown }>;
}

interface Plan {
  dry_run: boolean;
  version: string;
  changes: Change[];
}

const columns: Column[] = ['action', 'kind', 'name', ['changes', 'changes', 'list']];

/** `limit_bytes: 5 TB → 6 TB`; of lists only the field. */
function differenceInWords({ field, before, after }: Change['differences'][number]): string {
  if (Array.isArray(after)) return field;
  const shown = [before, after].map((value) => valueInWords(field, value));
  // Rounded alike: then only the numbers differ.
  const [from, to] = shown[0] === shown[1] ? [before, after] : shown;
  return `${field}: ${from} → ${to}`;
}

const times = ['start', 'expiry', 'active_until'];

function valueInWords(field: string, value: unknown): string {
  if (value === null || value === undefined) return 'none';
  if (typeof value !== 'number') return String(value);
  if (field.endsWith('_bytes')) return bytesInWords(value);
  return times.includes(field) ? timeInWords(value) : String(value);
}

/** The name under which a file without a name is checked; nothing is ever applied under it. */
const nameless = 'nameless';

/** Sends the manifest. Errors: a failure with the line of the field that the server names. */
async function send(
  file: string,
  manifest: ManifestFile,
  api: AdminApi,
  query: Record<string, string>,
): Promise<Plan> {
  const name = encodeURIComponent(manifest.name ?? nameless);
  try {
    return await api.put<Plan>(`/manifests/${name}?${new URLSearchParams(query)}`, manifest.body);
  } catch (error) {
    if (!(error instanceof RequestFailure)) throw error;
    const { message, field } = error;
    const faults = error.faults ?? (field === undefined ? [] : [{ field, message }]);
    if (faults.length === 0) throw error;
    const lines = faults.map((fault) => placeOf(manifest, fault));
    throw manifest.faults.length + lines.length === 1
      ? new Failure(`${file}, ${lines[0]}`)
      : new FaultyFile(file, [...manifest.faults, ...lines]);
  }
}

function placeOf({ lineOf }: ManifestFile, { field, message }: { field: string; message: string }) {
  // A record that the file no longer has is on no line.
  return field === ''
    ? message
    : `line ${lineOf(field.replaceAll(/[.[\]]+/g, '/')) ?? 1}, ${message}`;
}

/** Errors: a failure with all faults of the file: those found here, and those of the server. */
async function planOf(
  file: string,
  manifest: ManifestFile,
  api: AdminApi,
  query: Record<string, string>,
): Promise<Plan> {
  const plan = send(file, manifest, api, { ...query, dry_run: 'true' });
  if (manifest.faults.length === 0) return plan;
  await plan.catch((error) => {
    // Without a server, only the faults found here are reported.
    if (error instanceof FaultyFile) throw error;
  });
  throw new FaultyFile(file, manifest.faults);
}

function sentenceOf({ changes, dry_run }: Plan): string {
  const counts = (['create', 'change', 'adopt', 'remove'] as const).map(
    (action): Count => [action, changes.filter((change) => change.action === action).length],
  );
  return countsInWords(counts, dry_run);
}

const shown = (plan: Plan): Shown => ({
  ...table(
    plan.changes.map((change) => ({
      ...change,
      changes: change.differences.map(differenceInWords),
    })),
    columns,
    undefined,
  ),
  value: plan,
  sentence: sentenceOf(plan),
});

export const applyVerb: Verb = {
  usage: 'apply',
  summary: 'make servers, accounts, users and contracts match a YAML file',
  required: [['-f, --file <file>', 'YAML file; - for standard input']],
  options: [
    ['--dry-run', 'show what would change or be refused'],
    ['--check', 'like --dry-run; exit code 3 if anything would change'],
    ['--remove-all', 'let a file without records remove everything that it owned'],
    ['-y, --yes', 'skip the confirmation'],
  ],
  examples: ['exitward apply -f network.yaml --dry-run', 'exitward apply -f network.yaml --yes'],
  run: async (given, api) => {
    const file = given.word('file');
    // Loaded only here: no other command needs YAML.
    const { readManifest } = await import('./manifest.ts');
    const manifest = readManifest(file);
    const query: Record<string, string> = given.has('remove-all') ? { remove_all: 'true' } : {};
    const plan = await planOf(file, manifest, api, query);
    if (given.has('check') && plan.changes.length > 0) {
      return { ...shown(plan), code: 3 };
    }
    if (given.has('dry-run') || given.has('check') || plan.changes.length === 0) return shown(plan);
    if (!given.has('yes')) {
      const lines = plan.changes.map(({ action, kind, name, differences }) =>
        [`${action} ${kind} ${name}`, ...differences.map(differenceInWords)].join(', '),
      );
      notify(`${sentenceOf(plan).replace('.', ':')}\n- ${lines.join('\n- ')}`);
      await confirmed(`This makes ${counted(plan.changes.length, 'change')}.`);
    }
    // A plan that was agreed to is carried out exactly as shown, or not at all.
    const agreed: Record<string, string> = given.has('yes') ? {} : { version: plan.version };
    return shown(await send(file, manifest, api, { ...query, ...agreed, dry_run: 'false' }));
  },
};
