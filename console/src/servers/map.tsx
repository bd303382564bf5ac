// The world map of servers, which can be hidden, and figures about those of the contract.
import { useMemo } from 'preact/hooks';
import { useAddressState } from '../address.ts';
import { count } from '../format.ts';
import { WorldMap } from '../map/world_map.tsx';
import { Badge, Button, Card, Stat } from '../ui/ui.ts';
import type { ServerFilters } from './filters.ts';
import { countsOf, keyOf, keysText, pointOf, type ServerPlace } from './places.ts';
import { states, toneOf } from './rows.ts';

interface ServerMapProps {
  /** Undefined until they are read; the map's space is reserved, so that the list does not move. */
  places: readonly ServerPlace[] | undefined;
  filters: ServerFilters;
}

const none: never[] = [];

export function ServerMap({ places: read, filters }: ServerMapProps) {
  const places = read ?? none;
  const [map, setMap] = useAddressState('map');
  const isShown = map === 'shown';
  const selected = filters.places;
  const points = useMemo(() => {
    const keys = new Set(selected.split('|'));
    return places.map((place) => pointOf(place, keys.has(keyOf(place))));
  }, [places, selected]);
  const select = (keys: string[]) => {
    const text = keysText(keys);
    if (text === selected) return filters.change({ places: '' });
    const { contract, others } = countsOf(places.filter((place) => keys.includes(keyOf(place))));
    // The list shows the selected servers, whether on the contract or not.
    const view = others === 0 ? 'contract' : contract === 0 ? 'others' : 'all';
    filters.change({ places: text, view });
  };
  return (
    <Card
      title="Map"
      actions={
        <Button kind="quiet" aria-expanded={isShown} onClick={() => setMap(isShown ? '' : 'shown')}>
          {isShown ? 'Hide map' : 'Show map'}
        </Button>
      }
    >
      <div class={isShown ? 'servers-map' : undefined}>
        {isShown && (
          <WorldMap
            label="World map of servers. The list below has the same data"
            points={points}
            legend={legend}
            onSelect={select}
          />
        )}
        {read && <Figures places={read} isInLine={!isShown} />}
      </div>
    </Card>
  );
}

const legend = [
  { tone: 'good', text: 'healthy' },
  { tone: 'warn', text: 'degraded' },
  { tone: 'bad', text: 'down, or not connected' },
  { tone: 'neutral', text: 'not checked, or no node yet' },
  { tone: 'faint', text: 'not on the contract' },
] as const;

interface FiguresProps {
  places: readonly ServerPlace[];
  isInLine: boolean;
}

function Figures({ places, isInLine }: FiguresProps) {
  const { contract, countries, byState } = countsOf(places);
  const badges = byState.map(({ state, many }) => (
    <Badge key={state} tone={toneOf[state]}>{`${many} ${states[state]}`}</Badge>
  ));
  return (
    <dl class={isInLine ? 'row servers-figures' : 'stack servers-figures'}>
      <Stat name="On the contract" note={<span class="badges">{badges}</span>}>
        {count(contract, 'server')}
      </Stat>
      <Stat name="Countries">{countries}</Stat>
    </dl>
  );
}
