// exitward apply: makes a part of the network as one file declares it, with a plan first.
import type { AdminApi } from './api.ts';
import { ApiFailure, Differs, Failure, type Verb } from './command.ts';
import type { ManifestFile } from './manifest.ts';
import { type Column, notify, print, type Row, type Shown, table } from './output.ts';
import { confirmed } from './question.ts';

interface Change extends Row {
  action: 'create' | 'change' | 'adopt' | 'remove';
  kind: string;
  name: string;
  fields: string[];
}

interface Plan {
  dry_run: boolean;
  changes: Change[];
}

const columns: Column[] = ['action', 'kind', 'name', ['fields', 'fields', 'list']];

/** Sends it. Errors: a failure with the line of the field that the server names. */
async function send(
  file: string,
  manifest: ManifestFile,
  api: AdminApi,
  dry_run: boolean,
): Promise<Plan> {
  const path = `/manifests/${encodeURIComponent(manifest.name)}?dry_run=${dry_run}`;
  try {
    return await api.put<Plan>(path, manifest.body);
  } catch (error) {
    if (!(error instanceof ApiFailure) || error.field === undefined) throw error;
    const line = manifest.lineOf(error.field.replaceAll(/[.[\]]+/g, '/'));
    throw new Failure(`${file}, line ${line ?? 1}, ${error.message}`);
  }
}

function sentenceOf({ changes, dry_run }: Plan): string {
  if (changes.length === 0) return 'Nothing to do: everything is as the file says.';
  const counts = (['create', 'change', 'adopt', 'remove'] as const).map(
    (action) => `${changes.filter((one) => one.action === action).length} to ${action}`,
  );
  return dry_run
    ? `Plan: ${counts.join(', ')}.`
    : `Done: ${counts.join(', ').replaceAll(' to ', ' ')}.`;
}

const shown = (plan: Plan): Shown => ({
  ...table(plan.changes, columns),
  ...(plan.changes.length === 0 ? { parts: [] } : {}),
  value: plan,
  sentence: sentenceOf(plan),
});

export const applyVerb: Verb = {
  usage: 'apply',
  summary: 'make servers, accounts, users and contracts as one YAML file declares them',
  required: [['-f, --file <file>', 'the file; - for standard input']],
  options: [
    ['--dry-run', 'only tell what would change'],
    ['--check', 'as --dry-run, and end with 3 when anything would change'],
    ['-y, --yes', 'do it without being asked'],
  ],
  examples: ['exitward apply -f network.yaml --dry-run', 'exitward apply -f network.yaml --yes'],
  run: async (given, api) => {
    const file = given.word('file');
    // Loaded where there is something to read: no other command needs YAML.
    const { readManifest } = await import('./manifest.ts');
    const manifest = readManifest(file);
    const plan = await send(file, manifest, api, true);
    if (given.has('check') && plan.changes.length > 0) {
      print(shown(plan), given.has('json'));
      throw new Differs();
    }
    if (given.has('dryRun') || given.has('check') || plan.changes.length === 0) return shown(plan);
    if (!given.has('yes')) {
      notify(sentenceOf(plan));
      const lines = plan.changes.map(({ action, kind, name }) => `${action} ${kind} ${name}`);
      notify(`It would\n- ${lines.join('\n- ')}`);
      await confirmed(`This makes ${plan.changes.length} changes.`);
    }
    return shown(await send(file, manifest, api, false));
  },
};
