// /admin/doctor: the findings of this process about itself, its database and its nodes.
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { runChecks } from '../../../../kit/src/doctor/check.ts';
import type { Context } from '../../context.ts';
import { runningChecks, type SeenNode } from '../../doctor/running.ts';
import { reportedSettings } from '../../doctor/settings.ts';
import { Named, OneOf, orNull, Strict } from '../../http/fields.ts';
import { faultsByNode, listNodes } from '../../nodes/nodes.ts';
import { confinedExits, oldSpellings } from '../../servers/servers.ts';
import { version } from '../../values/version.ts';
import { operatorRoute } from './route.ts';

const Finding = Strict({
  name: Type.String({ description: 'Names the check, see the list in docs/doctor.md.' }),
  state: OneOf(['ok', 'warning', 'fault'], 'How bad it is.'),
  sentence: Type.String({ description: 'For people.' }),
  remedy: Type.Union([Type.String(), Type.Null()], {
    description: 'The command that fixes it; null when all is well.',
  }),
});
const Settings = Strict(
  {
    public_url: Type.String({ description: 'Where people reach the console.' }),
    node_url: Type.String({ description: 'Where nodes connect.' }),
    data_dir: Type.String({ description: 'The data folder.' }),
    sqlite_file: orNull(Type.String(), 'The database; null on PostgreSQL.'),
    keys_file: Type.String({ description: 'The keys file.' }),
    admin_token_file: Type.String({ description: 'The file of the first operator token.' }),
    tls: orNull(
      Strict({
        cert_file: Type.String({ description: 'The certificate, with its chain.' }),
        key_file: Type.String({ description: 'Its key.' }),
      }),
      'The files of the certificate; null: the server speaks no TLS itself.',
    ),
    tls_terminated: Type.Boolean({ description: 'Whether a proxy in front terminates TLS.' }),
  },
  'The settings of this server that `exitward doctor` goes by, whatever its own environment says.',
);
const Report = Named('Doctor', {
  version: Type.String({ description: 'Version of this server.' }),
  settings: Settings,
  findings: Type.Array(Finding, { description: 'One or more of each check.' }),
});

export function doctorRoutes(app: FastifyInstance, ctx: Context): void {
  const route = operatorRoute(app, 'Operator: network');

  route('GET /admin/doctor', {
    summary: 'Look at this server, its database and its nodes',
    description:
      'What only the running process knows; `exitward doctor` adds the files, disks and clock of its machine. Nothing is changed.',
    answer: Report,
    handle: async () => ({
      version,
      settings: reportedSettings(ctx.config),
      findings: await runChecks(
        runningChecks(ctx, {
          nodes: await seenNodes(ctx),
          spellings: await oldSpellings(ctx.db),
          confined: await confinedExits(ctx.db),
        }),
      ),
    }),
  });
}

async function seenNodes({ db }: Context): Promise<SeenNode[]> {
  const [all, faults] = await Promise.all([listNodes(db), faultsByNode(db)]);
  return all
    .filter(({ revoked_at }) => revoked_at === null)
    .map(({ id, name, server, version, live }) => ({
      ...{ name, server, version },
      live: live === 1,
      faults: (faults.get(id) ?? []).map(({ kind }) => kind),
    }));
}
