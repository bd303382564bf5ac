// The network on the world map: each place by the status of its nodes and exit IPs. A mark
// leads to its servers.
import { useRead } from '../api/reading.ts';
import { cityName, count, country } from '../format.ts';
import type { MarkTone } from '../map/mark.tsx';
import { type MapPoint, WorldMap } from '../map/world_map.tsx';
import '../style/map.css';
import { Card, Loaded } from '../ui/ui.ts';
import { type Place, placesText, placeText } from './places.ts';

const legend = [
  { tone: 'good', text: 'nodes online, exit IPs healthy' },
  { tone: 'warn', text: 'a node lags or is offline, or an exit IP is degraded' },
  { tone: 'bad', text: 'no node online, or an exit IP is down' },
  { tone: 'neutral', text: 'no node or exit IP yet, or one is not checked' },
] as const;
const worstFirst = ['bad', 'warn', 'neutral', 'good'] as const;

function pointOf(place: Place, isSelected: boolean): MapPoint {
  const { city, servers, states, server, ...at } = place;
  const tones = worstFirst.filter((tone) => states[tone] > 0);
  const legendEntry = legend.find(({ tone }) => tone === tones[0]);
  return {
    id: placeText(place),
    name: server ?? city,
    text: `${server === null ? country(at.country) : cityName({ city, country: at.country })}, ${server === null ? count(servers, 'server') : legendEntry?.text}`,
    longitude: at.longitude,
    latitude: at.latitude,
    tone: tones[0] ?? 'neutral',
    counts: new Map<MarkTone, number>(tones.map((tone) => [tone, states[tone]])),
    // Ten servers look larger than one, but not ten times.
    size: Math.min(7.5, 5 + Math.sqrt(servers) * 0.5),
    selected: isSelected,
  };
}

interface NetworkMapProps {
  /** The selected places, as in the address. */
  selected?: string;
  onSelect: (places: string) => void;
}

export function NetworkMap({ selected = '', onSelect }: NetworkMapProps) {
  const places = useRead('admin_list_server_places', {});
  const isSelected = new Set(selected.split(';'));
  const select = (ids: readonly string[]) => {
    const texts = placesText(ids);
    onSelect(texts === selected ? '' : texts);
  };
  return (
    <Card
      title="The network"
      note="Every server, colored by its nodes and exit IPs, whichever is worse. Select a mark to see its servers."
    >
      <Loaded reading={places} name="the places of the servers">
        {(all) => (
          <WorldMap
            label="World map of the servers of the network"
            points={all.map((place) => pointOf(place, isSelected.has(placeText(place))))}
            legend={legend}
            onSelect={select}
          />
        )}
      </Loaded>
    </Card>
  );
}
