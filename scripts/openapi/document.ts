// Makes the OpenAPI document from the declarations of the routes; nothing is listened on, no
// database is opened.
import { readFileSync } from 'node:fs';
import { accountTags } from '../../server/src/api/account/route.ts';
import type { ConsoleAccess } from '../../server/src/api/manage/checks.ts';
import { consoleTags } from '../../server/src/api/manage/scope.ts';
import { nodeTags } from '../../server/src/api/node/route.ts';
import { operatorTags } from '../../server/src/api/operator/route.ts';
import { createApp } from '../../server/src/app.ts';
import { systemClock } from '../../server/src/clock.ts';
import { readConfig } from '../../server/src/config.ts';
import type { Context } from '../../server/src/context.ts';
import { ErrorBody, Message } from '../../server/src/http/fields.ts';
import { Metrics } from '../../server/src/observed/metrics.ts';
import { version } from '../../server/src/values/version.ts';
import { components } from './components.ts';
import { audiences, operationOf, type ShownRoute } from './operations.ts';
import { type Document, NamedSchemas, sorted } from './shapes.ts';

/** A route as the app has it; `{name}` in the path. */
export interface RegisteredRoute {
  method: string;
  path: string;
  hidden: boolean;
  variant: 'current' | 'earlier' | undefined;
  /** The people that may call it, under /console. */
  console: ConsoleAccess | undefined;
}

/** The one committed file; the server serves it at /docs/openapi.json. */
export const documentFile = new URL('../../docs/openapi.json', import.meta.url);

/** The document of all audiences, and the routes that it was made from. */
export async function makeDocument(): Promise<{ document: Document; routes: RegisteredRoute[] }> {
  const routes: RegisteredRoute[] = [];
  const shown: ShownRoute[] = [];
  // Routes are only registered: the one thing that asks the database for something is the change
  // stream.
  const ctx = {
    config: readConfig({}),
    clock: systemClock,
    metrics: new Metrics(),
    db: { listen: () => () => {} },
  } as unknown as Context;
  const app = await createApp(
    ctx,
    { customers: true, operators: true, nodes: true },
    {
      prepare: async (bare) => {
        bare.addHook('onRoute', ({ method, url, schema, config }) => {
          const { words, params, querystring: query, body } = schema ?? {};
          const { variant, console } = config ?? {};
          const path = url.replace(/:(\w+)/g, '{$1}');
          for (const verb of [method].flat()) {
            const route = { method: verb.toLowerCase(), path, variant };
            routes.push({ ...route, hidden: !words, console });
            if (words && verb !== 'HEAD') {
              shown.push({ ...route, words, ...({ params, query, body } as object) });
            }
          }
        });
      },
    },
  );
  await app.ready();
  await app.close();
  return { document: documentOf(shown), routes };
}

const introduction = new URL('introduction.md', import.meta.url);
const methods = ['get', 'post', 'put', 'patch', 'delete'];

const tagGroups: Record<string, Record<string, string>> = {
  'Account API': accountTags,
  Console: consoleTags,
  'Operator API': operatorTags,
  'Node interface': nodeTags,
};

function documentOf(routes: ShownRoute[]): Document {
  const named = new NamedSchemas();
  const bodies = { v0: named.shown(Message), others: named.shown(ErrorBody) };
  const prefixes = Object.keys(audiences);
  const order = ({ path, method }: ShownRoute) =>
    `${prefixes.findIndex((prefix) => path.startsWith(prefix))} ${path} ${methods.indexOf(method)}`;
  const paths: Document['paths'] = {};
  for (const route of routes.sort((a, b) => (order(a) < order(b) ? -1 : 1))) {
    const operation = operationOf(named, route);
    paths[route.path] = { ...paths[route.path], [route.method]: operation };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Exitward',
      version,
      summary: 'The control plane of a proxy and VPN network.',
      description: readFileSync(introduction, 'utf8').trimEnd(),
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/', description: 'The server that this document comes from.' }],
    tags: Object.values(tagGroups)
      .flatMap((tags) => Object.entries(tags))
      .map(([name, description]) => ({ name, description })),
    'x-tagGroups': Object.entries(tagGroups).map(([name, tags]) => ({
      name,
      tags: Object.keys(tags),
    })),
    security: [],
    paths,
    components: components(bodies, sorted(named.byName), named),
  };
}

/** The document as it is committed. */
export function documentText(document: Document): string {
  return `${JSON.stringify(document, null, 2)}\n`;
}
