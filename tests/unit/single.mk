# Unit programs of one thread and no child: pure. A failure is a defect, and ThreadSanitizer has nothing to
# see in them. single.c proves it.
SINGLE_WRAP := pthread_create fork vfork posix_spawn posix_spawnp
SINGLE := \
    test_act test_address test_admission test_admit_memory test_admit_property test_age test_array \
    test_attempt_search test_attempt_table test_auth test_base64 test_batch_names test_check_command \
    test_check_paths test_conditions test_config test_contents test_core_conditions test_cpus test_deadlock \
    test_deadlock_edges test_dependencies test_dispatcher test_duration test_durations test_each \
    test_edit test_edit_after test_env test_estimate test_event test_event_ring test_event_texts \
    test_explain test_fields test_file test_frame test_global_interval test_hash_table test_hold \
    test_holding test_hooks test_id_range test_idle test_ids test_idset test_index test_index_list \
    test_inject test_interned test_job test_json test_keeper_log test_keeper_protocol test_keeper_start \
    test_keys test_known_texts test_lanes test_launch test_lease_files test_leases test_lent test_list test_log \
    test_owners test_pack test_packed test_post test_postings test_progress test_queue_lists test_queues \
    test_record_damage test_replacement test_reserve test_resources test_retry test_ring test_rlimit \
    test_rng test_search test_session test_session_env test_shell_words test_siphash test_spec \
    test_spec_defaults test_spec_edit test_spec_fails test_spec_json test_spec_local test_sqlite_row test_stdin_file \
    test_store test_table test_table_fit test_task test_term test_treap test_tries \
    test_users test_version test_view test_watermark test_wheel_places test_when test_why test_witness
