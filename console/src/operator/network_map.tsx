// The network on the map of the world: each server by how its nodes stand, and what was chosen there.
import { useMemo, useState } from 'preact/hooks';
import { Link } from 'wouter-preact';
import type { Answer } from '../api.ts';
import { count, country } from '../format.ts';
import { type MapPoint, WorldMap } from '../map/world_map.tsx';
import { paths } from '../paths.ts';
import '../style/map.css';
import { Badge } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { Card } from '../ui/card.tsx';
import { type Node, serverState } from './states.ts';

type Server = Answer<'admin_list_servers'>[number];

const legend = [
  { tone: 'good', text: 'live' },
  { tone: 'warn', text: 'a node lags or is lost' },
  { tone: 'bad', text: 'no live node' },
  { tone: 'neutral', text: 'no node yet' },
] as const;

interface NetworkMapProps {
  servers: readonly Server[];
  nodes: readonly Node[];
}

export function NetworkMap({ servers, nodes }: NetworkMapProps) {
  const [chosen, setChosen] = useState<string[]>([]);
  const byServer = useMemo(() => Map.groupBy(nodes, ({ server }) => server), [nodes]);
  const stateOf = ({ name }: Server) => serverState(byServer.get(name) ?? []);
  const points = servers.map((server): MapPoint => {
    const { tone, text } = stateOf(server);
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
    <Card title="The network" note="Every server, by how its nodes stand.">
      <WorldMap
        label="Servers of the network on a map of the world"
        points={points}
        legend={legend}
        onSelect={setChosen}
      />
      <div role="status" class="chosen">
        {shown.length > 0 && (
          <>
            <ul class="chosen-list" aria-label={count(shown.length, 'server')}>
              {shown.map((server) => {
                const { tone, text } = stateOf(server);
                return (
                  <li key={server.name} class="row">
                    <Link href={paths.operator.server(server.name)}>{server.name}</Link>
                    <span>
                      {server.city}, {country(server.country)}
                    </span>
                    <Badge tone={tone}>{text}</Badge>
                  </li>
                );
              })}
            </ul>
            <Button kind="quiet" icon="close" onClick={() => setChosen([])}>
              Choose none
            </Button>
          </>
        )}
      </div>
    </Card>
  );
}
