// Makes the OpenAPI document from the routes' own schemas; nothing is listened on, no database is opened.
import swagger from '@fastify/swagger';
import type { ConsoleAccess } from '../../server/src/api/manage/checks.ts';
import { createApp } from '../../server/src/app.ts';
import { systemClock } from '../../server/src/clock.ts';
import { readConfig } from '../../server/src/config.ts';
import type { Context } from '../../server/src/context.ts';
import { Metrics } from '../../server/src/observed/metrics.ts';
import { version } from '../../server/src/version.ts';
import { complete } from './complete.ts';
import type { Document } from './shapes.ts';

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
  // Routes are only registered: the one thing that asks the database for something is the change stream.
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
          for (const one of [method].flat()) {
            const path = url.replace(/:(\w+)/g, '{$1}');
            const { hide } = (schema ?? {}) as { hide?: boolean };
            routes.push({
              method: one.toLowerCase(),
              path,
              hidden: hide === true,
              variant: config?.variant,
              console: config?.console,
            });
          }
        });
        await bare.register(swagger, {
          openapi: { openapi: '3.1.0' },
          convertConstToEnum: false,
          exposeHeadRoutes: false,
        });
      },
    },
  );
  await app.ready();
  const plain = (app as unknown as { swagger(): Document }).swagger();
  await app.close();
  const variants = new Map(routes.map(({ path, variant }) => [path, variant]));
  return { document: complete(plain.paths, variants, version), routes };
}

/** The document as it is committed. */
export function documentText(document: Document): string {
  return `${JSON.stringify(document, null, 2)}\n`;
}
