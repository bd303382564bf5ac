// Servers to select in a form, with a check each: those that match a text, and the selected ones.
import { useState } from 'preact/hooks';
import { useTyped } from '../typed.ts';
import { Loaded, type Reading, SearchField } from '../ui/ui.ts';

/** The servers that match a text; for an empty text the first ones of the list. */
export interface FoundServers {
  rows: Reading<Array<{ name: string; title: string }>>;
  total: number;
}

interface ServerChecksProps {
  /** The name of the form field with the selected servers, if the form sends them. */
  name?: string;
  selected: readonly string[];
  onSelect: (servers: string[]) => void;
  useServers: (search: string) => FoundServers;
  /** Says that the list is empty. */
  none: string;
  hint: string;
}

/** Up to this many need no search. */
const shortList = 6;

export function ServerChecks(props: ServerChecksProps) {
  const { name: field, selected, onSelect, useServers, none, hint } = props;
  const [search, setSearch] = useState('');
  const [typed, setTyped] = useTyped(search, setSearch);
  const { rows, total } = useServers(search.trim());
  const matching = rows.data ?? [];
  const others = selected
    .filter((name) => !matching.some((server) => server.name === name))
    .map((name) => ({ name, title: name }));
  const select = (name: string, isSelected: boolean) =>
    onSelect(isSelected ? [...selected, name] : selected.filter((other) => other !== name));
  return (
    <fieldset>
      <legend>{selected.length === 0 ? 'Servers' : `Servers (${selected.length} selected)`}</legend>
      {/** Selected servers count even if the list can't be read. */}
      {field &&
        selected.map((name) => <input key={name} type="hidden" name={field} value={name} />)}
      {total > shortList && (
        <SearchField
          label="Find servers"
          name="find_servers"
          placeholder="Name, city or exit IP"
          value={typed}
          onInput={setTyped}
        />
      )}
      <Loaded reading={rows} name="the servers">
        {() => (
          <ul class="checks">
            {[...others, ...matching].map(({ name, title }) => (
              <li key={name}>
                <label>
                  <input
                    type="checkbox"
                    checked={selected.includes(name)}
                    onChange={({ currentTarget }) => select(name, currentTarget.checked)}
                  />{' '}
                  {title === name ? name : `${name}: ${title}`}
                </label>
              </li>
            ))}
            {matching.length === 0 && (
              <li class="note">{search.trim() === '' ? none : 'No server matches.'}</li>
            )}
          </ul>
        )}
      </Loaded>
      <p class="hint">{hint}</p>
    </fieldset>
  );
}
