// The servers of a new contract: those that match a text, and the selected ones, with a check each.
import { useState } from 'preact/hooks';
import { usePages } from '../../api/paging.ts';
import { mostChoices } from '../../forms/suggest_field.tsx';
import { useTyped } from '../../typed.ts';
import { Loaded, SearchField } from '../../ui/ui.ts';

interface ContractServersProps {
  chosen: readonly string[];
  onChoose: (servers: string[]) => void;
}

/** So many need no search. */
const shortList = 6;

export function ContractServers({ chosen, onChoose }: ContractServersProps) {
  const [search, setSearch] = useState('');
  const [typed, setTyped] = useTyped(search, setSearch);
  const query = { search: search.trim(), sort: 'name' } as const;
  const { rows, total } = usePages('admin_list_servers', { query, limit: mostChoices });
  const matching = rows.data ?? [];
  const others = chosen
    .filter((name) => !matching.some((server) => server.name === name))
    .map((name) => ({ name, title: name }));
  const choose = (name: string, isChosen: boolean) =>
    onChoose(isChosen ? [...chosen, name] : chosen.filter((other) => other !== name));
  return (
    <fieldset>
      <legend>{chosen.length === 0 ? 'Servers' : `Servers (${chosen.length} selected)`}</legend>
      {total > shortList && (
        <SearchField
          label="Find servers"
          name="find_servers"
          placeholder="Name, city or exit IP"
          value={typed}
          onInput={setTyped}
        />
      )}
      <Loaded of={rows} what="the servers">
        {() => (
          <ul class="checks">
            {[...others, ...matching].map(({ name, title }) => (
              <li key={name}>
                <label>
                  <input
                    type="checkbox"
                    checked={chosen.includes(name)}
                    onChange={({ currentTarget }) => choose(name, currentTarget.checked)}
                  />{' '}
                  {title === name ? name : `${name}: ${title}`}
                </label>
              </li>
            ))}
            {matching.length === 0 && (
              <li class="note">
                {search.trim() === '' ? 'The network has none yet.' : 'No server matches.'}
              </li>
            )}
          </ul>
        )}
      </Loaded>
      <p class="hint">You can add and remove servers later.</p>
    </fieldset>
  );
}
