"""DuckDB's functions that translated SQL may call: they compute, and touch nothing else.

A function that is missing here is refused, so those of a newer DuckDB are, too. Leave out what
reads files, settings, variables, sequences or the catalog, what sleeps, and what runs SQL.
"""

from __future__ import annotations

from local_cloud.google.bigquery.duckdb import functions

_VALUES = """
abs acos acosh add age ago any_value approx_count_distinct approx_quantile approx_top_k arbitrary
arg_max arg_max_null arg_max_nulls_last arg_min arg_min_null arg_min_nulls_last argmax argmin
array_agg array_aggr array_aggregate array_append array_apply array_cat array_concat
array_contains array_cosine_distance array_cosine_similarity array_distance array_distinct
array_extract array_filter array_grade_up array_has array_has_all array_has_any array_indexof
array_intersect array_length array_pop_back array_pop_front array_position array_prepend
array_push_back array_push_front array_reduce array_reverse array_reverse_sort array_select
array_slice array_sort array_to_json array_to_string array_to_string_comma_default array_transform
array_unique array_where ascii asin asinh assert_true atan atan2 atanh avg base64 bit_and
bit_count bit_length bit_or bit_xor bool_and bool_or cbrt ceil ceiling century char_length
character_length chr concat concat_ws contains corr cos cosh cot count count_if count_star countif
covar_pop covar_samp current_date current_localtime
current_localtimestamp current_user damerau_levenshtein date_add date_diff
date_part date_sub date_trunc datediff datepart datesub datetrunc day dayname dayofmonth dayofweek
dayofyear days_in_month decade decimal_division decode degrees divide element_at encode ends_with
entropy epoch epoch_ms epoch_ns epoch_us era error even exp fdiv first flatten floor fmod format
from_base64 from_hex gcd gen_random_uuid generate_series geomean geometric_mean get_current_time
get_current_timestamp grade_up greatest greatest_common_divisor group_concat hex histogram
histogram_exact hour if ilike_escape instr isfinite isinf isnan isodow isoyear jaro_similarity
jaro_winkler_similarity json json_array json_array_length json_contains json_deep_merge
json_exists json_extract json_extract_path json_extract_path_text json_extract_string
json_group_array json_group_object json_insert json_keys json_merge_patch json_object json_pretty
json_quote json_remove json_replace json_set json_strip_nulls json_type json_valid json_value
julian kurtosis kurtosis_pop last last_day lcase lcm least least_common_multiple left len length
levenshtein like_escape list list_aggr list_aggregate list_any_value list_append list_apply
list_approx_count_distinct list_avg list_bit_and list_bit_or list_bit_xor list_bool_and
list_bool_or list_cat list_concat list_contains list_cosine_distance list_cosine_similarity
list_count list_distance list_distinct list_element list_entropy list_extract list_filter
list_first list_grade_up list_has list_has_all list_has_any list_histogram list_indexof
list_intersect list_kurtosis list_kurtosis_pop list_last list_mad list_max list_median list_min
list_mode list_pack list_position list_prepend list_product list_reduce list_reverse
list_reverse_sort list_select list_sem list_skewness list_slice list_sort list_stddev_pop
list_stddev_samp list_string_agg list_sum list_transform list_unique list_value list_var_pop
list_var_samp list_where listagg ln log log10 log2 lower lpad ltrim make_date make_time
make_timestamp make_timestamp_ms make_timestamp_ns make_timestamptz map map_concat map_contains
map_contains_entry map_contains_value map_entries map_extract map_extract_value map_keys
map_values max max_by md5 mean median microsecond millennium millisecond min min_by minute mod
mode month monthname multiply nanosecond nfc_normalize normalized_interval not_ilike_escape
not_like_escape now nullif octet_length ord pi position pow power prefix printf quantile
quantile_cont quantile_disc quarter radians random range regexp_escape regexp_extract
regexp_extract_all regexp_full_match regexp_matches regexp_replace regexp_split_to_array repeat
replace reverse right round round_even roundbankers row row_to_json rpad rtrim second session_user
sha1 sha256 sign signbit sin sinh skewness split split_part sqrt starts_with stddev stddev_pop
stddev_samp str_split str_split_regex strftime string_agg string_split string_split_regex
string_to_array strip_accents strlen strpos strptime struct_concat struct_extract
struct_extract_at struct_insert struct_keys struct_pack struct_update struct_values substr
substring subtract suffix sum tan tanh time_bucket timezone timezone_hour timezone_minute
to_base64 to_days to_hex to_hours to_json to_microseconds to_milliseconds to_minutes to_months
to_quarters to_seconds to_timestamp to_weeks to_years today transaction_timestamp translate trim
trunc try_strptime typeof ucase unhex unicode upper uuid uuidv4 uuidv7 var_pop var_samp variance
week weekday weekofyear xor year yearweek
"""
# Also rank and its like, which DuckDB's own list of functions lacks.
_WINDOWS = """
cume_dist dense_rank fill first_value lag last_value lead nth_value ntile percent_rank rank
rank_dense row_number
"""
# Those that stand after FROM.
TABLES = frozenset({"unnest", "range", "generate_series"})
VALUES = frozenset((_VALUES + _WINDOWS).split()) | TABLES | functions.names()


def is_operator(name: str) -> bool:
    """Return whether a function's name is an operator's, such as + or ~~."""
    return not any(letter.isalnum() or letter == "_" for letter in name)
