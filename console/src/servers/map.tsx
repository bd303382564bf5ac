// The servers on the map of the world, what was chosen there, and the contract's servers in figures.
import { useMemo } from 'preact/hooks';
import { Link } from 'wouter-preact';
import { useScope } from '../api/scope.ts';
import { count } from '../format.ts';
import { type MapPoint, WorldMap } from '../map/world_map.tsx';
import { Badge, Button, Card, Stat } from '../ui/ui.ts';
import { type Filters, isInView, type Row, standings, summaryOf, unserved } from './rows.ts';
import { ServerStatus, toneOf } from './table.tsx';

interface ServerMapProps {
  rows: readonly Row[];
  filters: Filters;
  onFilter: (changes: Partial<Filters>) => void;
}

export function ServerMap({ rows, filters, onFilter }: ServerMapProps) {
  const { chosen } = filters;
  const points = useMemo(() => rows.map((row) => pointOf(row, chosen)), [rows, chosen]);
  const choose = (names: string[]) => {
    const isSame = names.length === chosen.length && names.every((name) => chosen.includes(name));
    if (isSame) return onFilter({ chosen: [] });
    // The list shows what was chosen, wherever it is.
    const all = rows.filter((row) => names.includes(row.name));
    const view = (['contract', 'others'] as const).find((one) =>
      all.every((row) => isInView(row, one)),
    );
    onFilter({ chosen: names, view: view ?? 'all' });
  };
  return (
    <Card title="Where they are">
      <div class="servers-map">
        <WorldMap
          label="Servers on a map of the world; the list below says the same"
          points={points}
          legend={legend}
          onSelect={choose}
        />
        <Figures rows={rows} />
      </div>
      <div role="status" class="servers-choice">
        {chosen.length > 0 && (
          <p class="row servers-chosen">
            <Chosen rows={rows.filter(({ name }) => chosen.includes(name))} />
            <Button kind="quiet" icon="close" onClick={() => onFilter({ chosen: [] })}>
              Show all again
            </Button>
          </p>
        )}
      </div>
    </Card>
  );
}

const legend = [
  { tone: 'good', text: 'ok' },
  { tone: 'warn', text: 'warn' },
  { tone: 'bad', text: 'crit, or not connected' },
  { tone: 'neutral', text: 'unknown, or no node yet' },
  { tone: 'faint', text: 'not on the contract' },
] as const;

function pointOf(
  { name, title, country_name, own, ...row }: Row,
  chosen: readonly string[],
): MapPoint {
  const summary = own && summaryOf(own);
  return {
    id: name,
    name,
    text: `${title}, ${country_name}, ${summary?.text ?? 'not on the contract'}`,
    longitude: row.longitude,
    latitude: row.latitude,
    tone: summary ? toneOf[summary.status] : 'faint',
    // Ten exit IPs look larger than one, and not ten times so.
    size: summary ? Math.min(7.5, 5 + Math.sqrt(row.ip_count) * 0.5) : 3.5,
    selected: chosen.includes(name),
  };
}

function Chosen({ rows }: { rows: readonly Row[] }) {
  const { paths } = useScope();
  const [row] = rows;
  if (!row || rows.length > 1) {
    const own = rows.filter((one) => one.own).length;
    return (
      <span>{`${count(rows.length, 'server')} chosen, ${own} on the contract: listed below`}</span>
    );
  }
  return (
    <>
      <span>
        <Link href={paths.server(row.name)}>{row.name}</Link>
        {` · ${row.city}, ${row.country_name}`}
      </span>
      {row.own ? <ServerStatus of={row.own} /> : <Badge tone="neutral">not on the contract</Badge>}
    </>
  );
}

function Figures({ rows }: { rows: readonly Row[] }) {
  const own = rows.filter((row) => row.own);
  // An exit IP without a node is of no use, however well it did when it was checked.
  const exits = own.flatMap(({ own }) =>
    (own?.ips ?? []).map(({ status }) => (own && unserved(own.nodes)) ?? status),
  );
  const byStatus = standings
    .map((status) => ({ status, many: exits.filter((one) => one === status).length }))
    .filter(({ many }) => many > 0);
  return (
    <dl class="stack servers-figures">
      <Stat name="On the contract">{count(own.length, 'server')}</Stat>
      <Stat name="In">
        {count(new Set(own.map((row) => row.country)).size, 'country', 'countries')}
      </Stat>
      <Stat
        name="With"
        note={
          <span class="badges">
            {byStatus.map(({ status, many }) => (
              <Badge key={status} tone={toneOf[status]}>{`${many} ${status}`}</Badge>
            ))}
          </span>
        }
      >
        {count(exits.length, 'exit IP')}
      </Stat>
    </dl>
  );
}
