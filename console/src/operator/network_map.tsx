// The network on the map of the world: each server by how its nodes and exit IPs stand, and what was chosen there.
import { useMemo } from 'preact/hooks';
import { Link } from 'wouter-preact';
import { useAddressState } from '../address.ts';
import { count, country } from '../format.ts';
import { type MapPoint, WorldMap } from '../map/world_map.tsx';
import { paths } from '../paths.ts';
import '../style/map.css';
import { Badge, Button, Card } from '../ui/ui.ts';
import { exitsState, type Node, type Server, serverState, together } from './states.ts';

const legend = [
  { tone: 'good', text: 'nodes live, exit IPs ok' },
  { tone: 'warn', text: 'a node lags or is lost, or an exit IP is warn' },
  { tone: 'bad', text: 'no live node, or an exit IP is crit' },
  { tone: 'neutral', text: 'no node or exit IP yet, or one is unknown' },
] as const;

interface NetworkMapProps {
  servers: readonly Server[];
  nodes: readonly Node[];
}

export function NetworkMap({ servers, nodes }: NetworkMapProps) {
  const [names, setNames] = useAddressState('chosen');
  const chosen = names.split(' ').filter(Boolean);
  const byServer = useMemo(() => Map.groupBy(nodes, ({ server }) => server), [nodes]);
  const statesOf = ({ name, exits }: Server) => [
    serverState(byServer.get(name) ?? []),
    exitsState(exits),
  ];
  const points = servers.map((server): MapPoint => {
    const { tone, text } = together(statesOf(server));
    return {
      id: server.name,
      name: server.name,
      text: `${server.title}, ${country(server.country)}, ${text}`,
      longitude: server.longitude,
      latitude: server.latitude,
      tone,
      // Ten exit IPs look larger than one, and not ten times so.
      size: Math.min(7.5, 5 + Math.sqrt(server.ip_count) * 0.5),
      selected: chosen.includes(server.name),
    };
  });
  const shown = servers.filter(({ name }) => chosen.includes(name));
  return (
    <Card
      title="The network"
      note="Every server, by its nodes and its exit IPs: the worse of both."
    >
      <WorldMap
        label="Servers of the network on a map of the world"
        points={points}
        legend={legend}
        onSelect={(chosen) => setNames(chosen.join(' '))}
      />
      <div role="status" class="card-head">
        {shown.length > 0 && (
          <>
            <ul class="bare-list" aria-label={count(shown.length, 'server')}>
              {shown.map((server) => (
                <li key={server.name} class="row">
                  <Link href={paths.operator.server(server.name)}>{server.name}</Link>
                  <span>
                    {server.city}, {country(server.country)}
                  </span>
                  {statesOf(server).map(({ tone, text }) => (
                    <Badge key={text} tone={tone}>
                      {text}
                    </Badge>
                  ))}
                </li>
              ))}
            </ul>
            <Button kind="quiet" icon="close" onClick={() => setNames('')}>
              Choose none
            </Button>
          </>
        )}
      </div>
    </Card>
  );
}
