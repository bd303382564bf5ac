// The files of ops/ as tests read them.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export const ops = join(import.meta.dirname, '../ops');

export interface Dashboard {
  uid: string;
  panels: Array<{
    id: number;
    type: string;
    title: string;
    gridPos: { x: number; y: number; w: number; h: number };
    datasource?: unknown;
    targets?: Array<{ refId: string; expr: string; datasource: unknown }>;
  }>;
  templating: { list: Array<{ name: string; type: string; query: unknown }> };
}

/** Each with its file's name. */
export function dashboards(): Array<[name: string, board: Dashboard]> {
  const folder = join(ops, 'grafana');
  return readdirSync(folder).map((name) => [
    name,
    JSON.parse(readFileSync(join(folder, name), 'utf8')) as Dashboard,
  ]);
}

export function queriesOf({ panels }: Dashboard): string[] {
  return panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
}
