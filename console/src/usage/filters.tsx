// The filters of the page of usage: the days, the user, and the server.

import { isoDay } from '../charts/days.ts';
import { periodText } from '../format.ts';
import { DateField, optionsIn, optionsOf, SelectField } from '../ui/ui.ts';
import { type Choice, nameOfPeriod, type Period, spanNames } from './span.ts';

export interface Filters {
  choice: Choice;
  /** A name, or empty for all. */
  server: string;
  user: string;
}

interface FilterFieldsProps {
  filters: Filters;
  onChange: (changes: Partial<Filters>) => void;
  servers: readonly string[];
  users: readonly string[];
  now: number;
  /** Billing periods that are over. */
  earlier: readonly Period[];
  /** The start of the contract: nothing was counted before. Undefined until known. */
  start: number | undefined;
}

export function FilterFields(props: FilterFieldsProps) {
  const { filters, onChange, servers, users, now, earlier, start } = props;
  const { choice, server, user } = filters;
  const choose = (changes: Partial<Choice>) => onChange({ choice: { ...choice, ...changes } });
  const field = (name: 'server' | 'user') => ({
    name,
    value: filters[name],
    onInput: (value: string) => onChange({ [name]: value }),
  });
  const days = { min: start === undefined ? start : isoDay(start), max: isoDay(now) };
  return (
    <div class="filters">
      <SelectField
        label="Days"
        name="days"
        value={choice.name}
        options={[...optionsIn(spanNames), ...earlier.map(optionOf)]}
        onInput={(name) => choose({ name })}
      />
      {choice.name === 'own' &&
        (['first', 'last'] as const).map((end) => (
          <DateField
            key={end}
            label={end === 'first' ? 'First day' : 'Last day'}
            name={end}
            {...days}
            value={choice[end]}
            onInput={(day) => choose({ [end]: day })}
          />
        ))}
      <SelectField
        label="Server"
        {...field('server')}
        options={withAll('All servers', servers, server)}
      />
      <SelectField label="User" {...field('user')} options={withAll('All users', users, user)} />
    </div>
  );
}

const optionOf = (period: Period) => ({
  value: nameOfPeriod(period),
  text: periodText(period),
});

/** The selected name stays an option when it has no traffic on other days. */
function withAll(all: string, names: readonly string[], chosen: string) {
  const listedNames = chosen === '' || names.includes(chosen) ? names : [...names, chosen];
  return optionsOf(listedNames.toSorted(), all);
}
